package sqlite3

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"rosbagd/storage"
)

// recover opens a file of which a part can not be read: everything that is left of it is found by going through all of
// its pages.
func (r *Reader) recover(cause error) error {
	if err := r.db.guessHeader(); err != nil {
		return err
	}
	return r.db.read(func(s *snapshot, _ int) error { return r.recoverFrom(s.reader(), cause) })
}

func (r *Reader) recoverFrom(p *pages, cause error) error {
	c, catalogErr := p.readCatalog()
	if catalogErr != nil && !storage.IsCorruption(catalogErr) {
		return catalogErr
	}
	d, err := p.describe(&c)
	if err != nil && !storage.IsCorruption(err) {
		return err
	}
	r.messages = layout{topic: 1, time: 2, data: 3}
	if table, ok := c.tables[tableMessages]; ok {
		r.messages = newLayout(table)
	}
	if catalogErr != nil || err != nil || p.short {
		if err := p.findShapes(&d, r.messages.root); err != nil {
			return err
		}
		slices.SortFunc(d.topics, func(a, b topicRow) int { return cmp.Compare(a.id, b.id) })
	}
	r.index, r.lastID = 0, math.MaxInt64
	r.tables = d
	r.info, r.topics = d.info()
	r.info.Metadata, _ = cutOwn(r.info.Metadata)
	r.partial = false
	found, err := p.salvageRows(r.messages, r.knownTopics())
	if err != nil {
		return err
	}
	count, err := r.countSalvaged(p, found)
	if err != nil {
		return err
	}
	if r.headless && len(r.info.Topics) == 0 && count.total.messages+count.foreignCount == 0 {
		return storage.ErrUnknownFormat
	}
	count.addTo(&r.info)
	r.salvaged, r.info.Damage = found, found.damage(p, cause, count)
	return nil
}

// salvage goes through all pages after damage was met while messages were read. Topics and counts stay as they are.
func (r *Reader) salvage(cause error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.salvaged != nil {
		return nil
	}
	return r.db.read(func(s *snapshot, _ int) error {
		p := s.reader()
		found, err := p.salvageRows(r.messages, r.knownTopics())
		if err != nil {
			return err
		}
		count, err := r.countSalvaged(p, found)
		if err != nil {
			return err
		}
		r.left = count
		r.salvaged, r.damage = found, found.damage(p, cause, count)
		return nil
	})
}

// knownTopics are the ids of the topics; nil when the file no longer tells any.
func (r *Reader) knownTopics() map[int64]bool {
	if len(r.topics) == 0 {
		return nil
	}
	topics := make(map[int64]bool, len(r.topics))
	for id := range r.topics {
		topics[id] = true
	}
	return topics
}

func (r *Reader) countSalvaged(p *pages, found *salvage) (*counted, error) {
	count := newCounted(len(r.info.Topics))
	scan := &salvageScanner{salvage: found, p: p}
	for {
		_, _, row, k, err := scan.next()
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return nil, err
		}
		count.add(r.topics, k.id, row)
	}
}

// damage is one sentence on what a file has lost, as far as it can be told.
func (s *salvage) damage(p *pages, cause error, count *counted) string {
	var text strings.Builder
	var damaged *storage.CorruptionError
	switch {
	case p.short:
		text.WriteString("it ends too early")
	case errors.As(cause, &damaged):
		fmt.Fprintf(&text, "it is damaged at byte %d (%v)", damaged.Offset, damaged.Err)
	default:
		text.WriteString("it is damaged")
	}
	fmt.Fprintf(&text, ", %d messages found by reading all of it", count.total.messages)
	// Messages are numbered from 1 without gaps, so a gap is what is lost.
	if ids := count.ids; ids.messages > 0 && ids.start > 0 && uint64(ids.end) > ids.messages {
		fmt.Fprintf(&text, ", %d missing before the last of them", uint64(ids.end)-ids.messages)
	}
	if s.broken > 0 {
		fmt.Fprintf(&text, ", %d with only a part left", s.broken)
	}
	if foreign := count.foreignText(); foreign != "" {
		fmt.Fprintf(&text, ", %s", foreign)
	}
	return text.String()
}
