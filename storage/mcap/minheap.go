package mcap

// minHeap has the item first that is before all others. The standard library's would turn each item into an interface, for
// each message.
type minHeap[T prior[T]] []T

// prior is what has an order.
type prior[T any] interface{ before(other T) bool }

func (h *minHeap[T]) push(item T) {
	*h = append(*h, item)
	items := *h
	for i := len(items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !items[i].before(items[parent]) {
			break
		}
		items[i], items[parent] = items[parent], items[i]
		i = parent
	}
}

// sink finds the right place of the first item after it changed.
func (h *minHeap[T]) sink() {
	items := *h
	for i := 0; ; {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(items) && items[child].before(items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		items[i], items[least] = items[least], items[i]
		i = least
	}
}

// pop takes the first item.
func (h *minHeap[T]) pop() T {
	items := *h
	first, last := items[0], len(items)-1
	var none T
	items[0], items[last] = items[last], none
	*h = items[:last]
	h.sink()
	return first
}
