package bag

import "rosbagd/storage"

// cursor is a file that is being read, with its next message.
type cursor struct {
	file     *file
	position int
	held     bool // to be released
	topics   []storage.TopicID
	inner    storage.Iterator
	message  storage.Message
	key      int64
	told     bool
}

// cursors implements heap.Interface.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(a, b int) bool {
	if h[a].key != h[b].key {
		return h[a].key < h[b].key
	}
	return h[a].position < h[b].position
}
func (h cursors) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *cursors) Push(x any)   { *h = append(*h, x.(*cursor)) }

func (h *cursors) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
