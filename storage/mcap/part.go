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
type partHeap []*part

func (h *partHeap) push(p *part) {
	*h = append(*h, p)
	parts := *h
	for i := len(parts) - 1; i > 0; {
		parent := (i - 1) / 2
		if !parts[i].before(parts[parent]) {
			break
		}
		parts[i], parts[parent] = parts[parent], parts[i]
		i = parent
	}
}

// sink finds the right place of the first part after its key grew.
func (h *partHeap) sink() {
	parts := *h
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(parts) && parts[child].before(parts[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		parts[i], parts[least] = parts[least], parts[i]
		i = least
	}
}

// pop drops the first part.
func (h *partHeap) pop() {
	parts := *h
	last := len(parts) - 1
	parts[0] = parts[last]
	parts[last] = nil
	*h = parts[:last]
	h.sink()
}
