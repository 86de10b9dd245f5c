package mcap

// part is a chunk that has messages left.
type part struct {
	ref     chunkRef
	key     int64   // of its next message
	done    int     // entries already given
	entries []entry // nil while the chunk is not in memory
	records []byte
}

// entry is a message of a loaded chunk.
type entry struct {
	key int64 // time in the order asked for
	at  int   // of its record in the chunk
}

// size is what the part takes in memory.
func (p *part) size() int { return cap(p.records) + 16*cap(p.entries) }

func (p *part) before(other *part) bool {
	if p.key != other.key {
		return p.key < other.key
	}
	return p.ref.position < other.ref.position
}

// partHeap has the part with the least key first; of equal ones that which stands first in the file.
type partHeap = minHeap[*part]
