package bag

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"rosbagd/storage"
)

const (
	batchBytes    = 256 << 10 // payload that a batch has copied
	batchMessages = 2048
	batchesAhead  = 3 // for each output
	// borrowed payloads are not copied; each may keep a whole chunk of its file in memory.
	borrowFrom  = 32 << 10
	borrowBytes = 4 << 20
)

// batch is messages on their way to an output, with the memory of their payloads.
type batch struct {
	messages []storage.Message
	memory   []byte
	borrowed int
}

// add takes a message over. Payloads are copied, because one small one would keep the whole chunk it lies in, except for
// large ones.
func (b *batch) add(m *storage.Message, id storage.TopicID) {
	data := m.Data
	if len(data) < borrowFrom {
		at := len(b.memory)
		b.memory = append(b.memory, data...) // never grows beyond its capacity; see full
		data = b.memory[at:len(b.memory):len(b.memory)]
	} else {
		b.borrowed += len(data)
	}
	b.messages = append(b.messages, *m)
	taken := &b.messages[len(b.messages)-1]
	taken.Topic, taken.Data = id, data
}

func (b *batch) full() bool {
	return len(b.messages) == batchMessages || len(b.memory) > batchBytes-borrowFrom || b.borrowed >= borrowBytes
}

func (b *batch) reset() {
	clear(b.messages)
	b.messages, b.memory, b.borrowed = b.messages[:0], b.memory[:0], 0
}

// lane is the way to one output: messages are read on one core and written on another.
type lane struct {
	*output
	current *batch
	free    chan *batch
	full    chan *batch
}

func newLane(out *output) *lane {
	l := &lane{output: out, free: make(chan *batch, batchesAhead), full: make(chan *batch, batchesAhead)}
	for range batchesAhead {
		l.free <- &batch{messages: make([]storage.Message, 0, batchMessages), memory: make([]byte, 0, batchBytes)}
	}
	return l
}

// drain writes what comes, until full is closed.
func (l *lane) drain(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case b, ok := <-l.full:
			if !ok {
				return nil
			}
			if err := l.write(b.messages); err != nil {
				return err
			}
			b.reset()
			l.free <- b
		}
	}
}

// put adds a message to the batch and hands a full one on.
func (l *lane) put(ctx context.Context, m *storage.Message, id storage.TopicID) error {
	if l.current == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l.current = <-l.free:
		}
	}
	l.current.add(m, id)
	if l.current.full() {
		l.flush()
	}
	return nil
}

// flush hands on what there is; there is always room for it.
func (l *lane) flush() {
	if l.current != nil {
		l.full <- l.current
		l.current = nil
	}
}

// settle waits until everything handed on is written.
func (l *lane) settle(ctx context.Context) error {
	l.flush()
	held := make([]*batch, 0, batchesAhead)
	defer func() {
		for _, b := range held {
			l.free <- b
		}
	}()
	for range batchesAhead {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b := <-l.free:
			held = append(held, b)
		}
	}
	return nil
}

// move brings everything to the outputs.
func (c *conversion) move(ctx context.Context) error {
	background, stop := context.WithCancel(ctx)
	defer stop()
	upkeep, upkeepCtx := errgroup.WithContext(background)
	for _, out := range c.outputs {
		upkeep.Go(func() error { return out.writer.Run(upkeepCtx) })
	}
	group, groupCtx := errgroup.WithContext(upkeepCtx)
	lanes := make([]*lane, len(c.outputs))
	for i, out := range c.outputs {
		lanes[i] = newLane(out)
		group.Go(func() error { return lanes[i].drain(groupCtx) })
	}
	group.Go(func() error {
		defer func() {
			for _, l := range lanes {
				close(l.full)
			}
		}()
		return c.feed(groupCtx, lanes)
	})
	moveErr := group.Wait()
	stop()
	upkeepErr := upkeep.Wait()
	if err := ctx.Err(); err != nil {
		return err // what else failed did so because of it
	}
	return errors.Join(upkeepErr, moveErr)
}

// feed reads the inputs from start to end.
func (c *conversion) feed(ctx context.Context, lanes []*lane) error {
	packed, err := c.extras(c.reader.files, false)
	if err != nil {
		return err
	}
	for _, stretch := range c.stretches() {
		if stretch.file != nil {
			if err := c.copyBlocks(ctx, lanes[0], stretch); err != nil {
				return err
			}
			continue
		}
		if err := c.moveMessages(ctx, lanes, stretch.times); err != nil {
			return err
		}
	}
	for _, l := range lanes {
		if err := l.settle(ctx); err != nil {
			return err
		}
	}
	_, err = c.extras(packed, true)
	return err
}

// moveMessages moves the messages of a range of times one by one.
func (c *conversion) moveMessages(ctx context.Context, lanes []*lane, times TimeRange) error {
	times = times.Intersect(c.wanted)
	query := Query{Query: storage.Query{
		Topics: c.wantedTopics(), FromNanos: times.FromNanos, UntilNanos: times.UntilNanos, HasUntil: times.HasUntil,
	}}
	it, err := c.reader.Messages(query)
	if err != nil && c.read == 0 {
		return err // nothing of the inputs can be read
	}
	if err != nil {
		c.lose("%v", err)
		return nil
	}
	return c.each(ctx, it, func(m *storage.Message) error {
		if int(m.Topic) >= len(c.topics) { // the file was another one when it was asked for its topics
			c.lose("messages of a topic that turned up late")
			return nil
		}
		for _, l := range lanes {
			if id := l.ids[m.Topic]; id != 0 && l.Times.Contains(m.LogTimeNanos) {
				if err := l.put(ctx, m, id-1); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// each visits what can be read, and closes the iterator.
func (c *conversion) each(ctx context.Context, it storage.Iterator, visit func(*storage.Message) error) (err error) {
	const interval = 4096
	defer func() { err = errors.Join(err, it.Close()) }()
	var m storage.Message
	for n := 0; ; n++ {
		if n%interval == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if n > 0 {
				c.tell(m.LogTimeNanos)
			}
		}
		m, err = it.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			c.lose("%v", err)
			continue
		}
		c.read++
		if err := visit(&m); err != nil {
			return err
		}
	}
}

// wantedTopics are those that some output gets.
func (c *conversion) wantedTopics() []storage.TopicID {
	wanted := []storage.TopicID{}
	for i := range c.topics {
		if slices.ContainsFunc(c.outputs, func(out *output) bool { return out.ids[i] != 0 }) {
			wanted = append(wanted, storage.TopicID(i))
		}
	}
	if len(wanted) == len(c.topics) {
		return nil
	}
	return wanted
}

func (c *conversion) tell(at int64) {
	p := Progress{Messages: c.read, Done: 1}
	if from, until := c.span.FromNanos, c.span.UntilNanos; until > from {
		p.Done = min(max(float64(at-from)/float64(until-from), 0), 1)
	}
	c.options.Progress(p)
}
