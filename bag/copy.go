package bag

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"rosbagd/storage"
)

// origin is the topic of a file whose blocks are copied.
type origin struct {
	from storage.Reader // open for as long as the Writer writes
	id   storage.TopicID
}

// addTopicOf is AddTopic for a topic of a file whose blocks are to be copied: the files of the bag describe it as that
// one does, as far as they can. The metadata keep topic as it is.
func (w *Writer) addTopicOf(topic storage.Topic, from origin) (storage.TopicID, error) {
	w.mu.Lock()
	if _, known := w.byName[topic.Name]; !known {
		if w.origins == nil {
			w.origins = map[string]origin{}
		}
		w.origins[topic.Name] = from
	}
	w.mu.Unlock()
	return w.AddTopic(topic)
}

// addTo describes a topic in a file.
func (w *Writer) addTo(writer storage.Writer, topic storage.Topic) (storage.TopicID, error) {
	from, ok := w.origins[topic.Name]
	blocks, can := writer.(storage.BlockWriter)
	if ok && can {
		return blocks.AddTopicOf(from.from, from.id)
	}
	return writer.AddTopic(topic)
}

// accepts says whether the blocks of a file can be copied into this bag.
func (w *Writer) accepts(from storage.Reader) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	writer, ok := w.current.writer.(storage.BlockWriter)
	return ok && w.options.CompressionMode != CompressionMessage && writer.Accepts(from)
}

// copyBlock appends a block of a file that is accepted; see storage.BlockWriter. Splits come between blocks: a file may
// exceed MaxSize by one. A block that is longer than MaxDuration, or large beside MaxSize, is storage.ErrOtherIDs.
func (w *Writer) copyBlock(from storage.Reader, index int, block storage.Block) (uint64, error) {
	if (w.options.MaxDuration > 0 && block.EndNanos-block.StartNanos > int64(w.options.MaxDuration)) ||
		(w.options.MaxSize > 0 && block.Size > w.options.MaxSize/4) {
		return 0, storage.ErrOtherIDs
	}
	if w.fullFor(block) {
		if _, err := w.splitWhenDue(); err != nil {
			return 0, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	if w.unflushed.IsZero() {
		w.unflushed = time.Now()
	}
	p := w.current
	var copied uint64
	err := w.watched(func() (err error) {
		copied, err = p.writer.(storage.BlockWriter).CopyBlock(from, index, storage.CheckIndex)
		return err
	})
	switch {
	case errors.Is(err, storage.ErrOtherIDs) || storage.IsCorruption(err):
		return 0, err
	case err != nil:
		return 0, w.fail(err)
	}
	p.room -= block.Size
	p.first = min(p.first, block.StartNanos)
	p.written = true
	return copied, nil
}

// fullFor says whether a block belongs into a new file.
func (w *Writer) fullFor(block storage.Block) bool {
	p := w.current
	if !p.written {
		return false
	}
	if w.options.MaxDuration > 0 && block.EndNanos-p.first > int64(w.options.MaxDuration) {
		return true
	}
	return w.options.MaxSize > 0 && p.writer.Size() >= w.options.MaxSize
}

// stretch is a range of times in which either blocks of one file are copied or messages of all files are moved. Two
// stretches have no time in common.
type stretch struct {
	times  TimeRange
	file   *file // nil: messages
	blocks []int
}

// standing is a block of some file, or a whole file whose messages can only be moved one by one.
type standing struct {
	file       *file
	index      int
	start, end int64
	wanted     bool // all of it
}

// stretches decides what can be copied as it is: blocks of a file of which everything is wanted. Blocks of one file may
// overlap, and keep their order; where files overlap their messages are merged.
func (c *conversion) stretches() []stretch {
	whole := []stretch{{times: c.wanted}}
	if len(c.outputs) != 1 || !c.outputs[0].keepsBlocks(c) {
		return whole
	}
	var all []standing
	for _, f := range c.reader.files {
		some, ok := c.standings(f)
		if !ok {
			return whole
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b standing) int { return cmp.Compare(a.start, b.start) })
	var out []stretch
	for len(all) > 0 {
		n, end := 1, all[0].end
		for n < len(all) && all[n].start <= end {
			end = max(end, all[n].end)
			n++
		}
		out = appendStretch(out, c.stretchOf(all[:n], end))
		all = all[n:]
	}
	if !slices.ContainsFunc(out, func(s stretch) bool { return s.file != nil }) {
		return whole
	}
	return out
}

// appendStretch joins messages with messages and blocks with blocks of the same file.
func appendStretch(out []stretch, s stretch) []stretch {
	if n := len(out); n > 0 && out[n-1].file == s.file {
		last := &out[n-1]
		last.times.UntilNanos = s.times.UntilNanos
		last.blocks = append(last.blocks, s.blocks...)
		return out
	}
	return append(out, s)
}

// stretchOf judges blocks that overlap, or a single one.
func (c *conversion) stretchOf(group []standing, end int64) stretch {
	s := stretch{times: TimeRange{FromNanos: group[0].start, UntilNanos: end, HasUntil: true}}
	out := c.outputs[0]
	splits := out.Writer.MaxDuration > 0 || out.Writer.MaxSize > 0
	some := false
	for _, b := range group {
		if b.file != group[0].file || b.index < 0 {
			return s
		}
		some = some || b.wanted
	}
	if !some || (splits && len(group) > 1) {
		return s
	}
	s.file = group[0].file
	for _, b := range group {
		s.blocks = append(s.blocks, b.index)
	}
	slices.Sort(s.blocks)
	return s
}

// keepsBlocks says whether an output leaves blocks as they are.
func (out *output) keepsBlocks(c *conversion) bool {
	if out.Writer.Preset != "" || len(out.Writer.StorageConfig.Data) > 0 || out.writer.messages != nil {
		return false
	}
	version := out.writer.options.MetadataVersion
	for _, m := range c.reader.members {
		// Up to version 8 numbers stand in the files where words do from then on, which newer programs understand.
		if version < MetadataVersion && m.metadata.Version > version {
			return false
		}
	}
	return true
}

// standings lists the blocks of a file, or the file as a whole. It is false when nobody knows what times there are in it.
func (c *conversion) standings(f *file) ([]standing, bool) {
	if c.reader.wouldUnpack(f) {
		return nil, false
	}
	reader, err := c.reader.acquire(f)
	if err != nil {
		return nil, false // which is told when its messages are read
	}
	defer func() { _ = c.reader.release(f) }()
	info := storage.Outline(reader)
	if info.Damage != "" {
		return nil, false
	}
	if info.MessageCount == 0 {
		return nil, true
	}
	whole := []standing{{file: f, index: -1, start: info.StartNanos, end: info.EndNanos}}
	blocks, ok := reader.(storage.BlockReader)
	if !ok || f.member.decompress != nil || !c.outputs[0].writer.accepts(reader) {
		return whole, true
	}
	listed, err := blocks.Blocks()
	if err != nil {
		return nil, false
	}
	times := c.outputs[0].Times.Intersect(f.member.times)
	var out []standing
	for i, b := range listed {
		if b.EndNanos < times.FromNanos || (times.HasUntil && b.StartNanos > times.UntilNanos) {
			continue
		}
		out = append(out, standing{
			file: f, index: i, start: b.StartNanos, end: b.EndNanos,
			wanted: b.Whole && times.Contains(b.StartNanos) && times.Contains(b.EndNanos),
		})
	}
	return out, true
}

// copyBlocks copies what can be copied of blocks, and moves the messages of the others one by one.
func (c *conversion) copyBlocks(ctx context.Context, l *lane, s stretch) (err error) {
	if err := l.settle(ctx); err != nil {
		return err
	}
	reader, err := c.reader.acquire(s.file)
	if err != nil {
		c.lose("%v", err)
		return nil
	}
	defer func() { err = errors.Join(err, c.reader.release(s.file)) }()
	blocks := reader.(storage.BlockReader)
	listed, err := blocks.Blocks()
	if err != nil {
		c.lose("%v", err)
		return nil
	}
	times := l.Times.Intersect(s.file.member.times)
	topics := c.reader.topicsOf(s.file)
	for _, i := range s.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := listed[i]
		if b.Whole && times.Contains(b.StartNanos) && times.Contains(b.EndNanos) {
			copied, err := l.writer.copyBlock(reader, i, b)
			if err == nil {
				c.read += copied
				l.copied += copied
				c.tell(b.EndNanos)
				continue
			}
			if !errors.Is(err, storage.ErrOtherIDs) && !storage.IsCorruption(err) {
				return err
			}
		}
		if err := c.moveBlock(ctx, l, topics, blocks, i, times); err != nil {
			return err
		}
		if err := l.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// moveBlock moves the messages of one block.
func (c *conversion) moveBlock(ctx context.Context, l *lane, topics []storage.TopicID, blocks storage.BlockReader, index int, times TimeRange) error {
	it, err := blocks.BlockMessages(index)
	if err != nil {
		c.lose("%v", err)
		return nil
	}
	return c.each(ctx, it, func(m *storage.Message) error {
		if id := l.ids[topics[m.Topic]]; id != 0 && times.Contains(m.LogTimeNanos) {
			return l.put(ctx, m, id-1)
		}
		return nil
	})
}

// topicsOf are the reader's topic ids, by those of an open file.
func (r *Reader) topicsOf(f *file) []storage.TopicID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(f.topics)
}

// addTopic describes a topic as the first file does that has it, so that blocks of that file can be copied. When bags are
// joined their offers are, too, and the topic is another one than in each of them.
func (out *output) addTopic(c *conversion, id storage.TopicID, topic storage.Topic) (storage.TopicID, error) {
	if len(c.outputs) == 1 && out.keepsBlocks(c) {
		for _, f := range c.reader.files {
			from, ok := c.originIn(f, id, topic, len(c.reader.members) == 1)
			if ok {
				return out.writer.addTopicOf(topic, from)
			}
		}
	}
	return out.writer.AddTopic(topic)
}

// originIn finds a topic in a file, which stays open then.
func (c *conversion) originIn(f *file, id storage.TopicID, topic storage.Topic, anyOffers bool) (origin, bool) {
	if c.reader.wouldUnpack(f) {
		return origin{}, false
	}
	reader, err := c.reader.acquire(f)
	if err != nil {
		return origin{}, false
	}
	if _, ok := reader.(storage.BlockReader); ok {
		c.reader.mu.Lock()
		theirs, has := f.origins[id]
		c.reader.mu.Unlock()
		if has && theirs.topic.Name == topic.Name && (anyOffers || slices.Equal(theirs.topic.OfferedQoS, topic.OfferedQoS)) {
			c.held = append(c.held, f)
			return origin{from: reader, id: theirs.id}, true
		}
	}
	_ = c.reader.release(f)
	return origin{}, false
}
