package param

import (
	"maps"
	"slices"
)

// Touch says that what a Live parameter stands for may have changed by itself: those that have are announced like any
// other change. It may be called from within Live.Set too, but not under a lock that Live.Get needs. Unless a change is
// under way, whose goroutine then does it, the events are out when Touch returns.
func (s *Store) Touch() {
	s.touched.Store(true)
	s.follow()
}

func (s *Store) lockChange() { s.change.Lock() }

// unlockChange looks after what was touched meanwhile, for those who found the lock taken.
func (s *Store) unlockChange() {
	s.change.Unlock()
	s.follow()
}

func (s *Store) follow() {
	for s.touched.Load() && s.change.TryLock() {
		if s.touched.Swap(false) {
			s.catchUp()
		}
		s.change.Unlock()
	}
}

// catchUp needs change.
func (s *Store) catchUp() {
	var event Event
	s.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(s.declared)) {
		d := s.declared[name]
		if now := d.now(); !now.Equal(d.value) {
			d.value = now
			event.Changed = append(event.Changed, Parameter{name, now})
		}
	}
	s.mu.Unlock()
	if len(event.Changed) > 0 {
		s.announce(event)
	}
}
