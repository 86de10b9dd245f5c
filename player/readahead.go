package player

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"

	"rosbagd/clock"
	"rosbagd/storage"
)

// maxLatchedBytes bounds the latched messages from before the start; the newest are kept.
const maxLatchedBytes = 16 << 20

// readAhead fills the queue from the bag.
type readAhead struct {
	source  Source
	queue   *queue
	topics  []storage.TopicID // that are played
	latched []storage.TopicID // those of them that are transient_local
	order   storage.Order
	events  Events
	log     *zap.Logger
	file    string // that was read last
}

// run reads passage after passage until the context ends.
func (r *readAhead) run(ctx context.Context) error {
	var epoch uint64
	for {
		p, ok := r.queue.next(ctx, epoch)
		if !ok {
			return nil
		}
		epoch = p.epoch
		if wanted, err := r.read(ctx, p); wanted {
			r.queue.end(epoch, err)
		}
	}
}

// read returns false when the passage is no longer wanted.
func (r *readAhead) read(ctx context.Context, p passage) (wanted bool, err error) {
	if p.empty {
		return true, nil
	}
	if p.latched > 0 && len(r.latched) > 0 {
		before, err := r.collectLatched(ctx, p)
		if err != nil {
			return true, err
		}
		for _, it := range before {
			if !r.queue.push(ctx, p.epoch, it) {
				return false, nil
			}
		}
	}
	query := storage.Query{Topics: r.topics, FromNanos: int64(max(p.from, 0)), Order: r.order}
	if p.limited {
		query.UntilNanos, query.HasUntil = int64(p.until), true
	}
	wanted = true
	err = r.each(query, r.tellSplit, func(m storage.Message) bool {
		wanted = r.queue.push(ctx, p.epoch, item{topic: m.Topic, due: r.due(m), data: m.Data})
		return wanted
	})
	return wanted, err
}

func (r *readAhead) due(m storage.Message) clock.Time {
	if r.order == storage.ByPublishTime {
		return clock.Time(m.PublishTimeNanos)
	}
	return clock.Time(m.LogTimeNanos)
}

// collectLatched gives the newest messages of the latched topics that the passage wants first.
func (r *readAhead) collectLatched(ctx context.Context, p passage) ([]item, error) {
	var kept []item
	var bytes int64
	query := storage.Query{Topics: r.latched, UntilNanos: int64(p.latched) - 1, HasUntil: true}
	dropped := 0
	err := r.each(query, func(string) {}, func(m storage.Message) bool {
		it := item{topic: m.Topic, due: clock.Time(m.LogTimeNanos), data: m.Data, extra: true}
		kept, bytes = append(kept, it), bytes+it.cost()
		for bytes > maxLatchedBytes && len(kept) > 1 {
			bytes -= kept[0].cost()
			kept[0] = item{}
			kept = kept[1:]
			dropped++
		}
		return ctx.Err() == nil && r.queue.epoch() == p.epoch
	})
	if dropped > 0 {
		r.log.Warn("Old latched messages from before the start are left out", zap.Int("messages", dropped))
	}
	return kept, err
}

// each goes through the messages of a query until visit returns false, and over damaged parts with a warning.
func (r *readAhead) each(query storage.Query, onFile func(string), visit func(storage.Message) bool) error {
	messages, err := r.source.Messages(query, onFile)
	if err != nil {
		return fmt.Errorf("read bag: %w", err)
	}
	for {
		m, err := messages.Next()
		var damage *storage.CorruptionError
		switch {
		case errors.Is(err, io.EOF):
			return closeIterator(messages)
		case errors.As(err, &damage):
			r.log.Warn("A damaged part of the bag is left out", zap.Error(err))
			continue
		case err != nil:
			return errors.Join(fmt.Errorf("read bag: %w", err), closeIterator(messages))
		}
		if !visit(m) {
			return closeIterator(messages)
		}
	}
}

func closeIterator(messages storage.Iterator) error {
	if err := messages.Close(); err != nil {
		return fmt.Errorf("close bag iterator: %w", err)
	}
	return nil
}

// tellSplit reports that reading went from one file of the bag to another.
func (r *readAhead) tellSplit(file string) {
	if r.file != "" && file != r.file && r.events != nil {
		r.events.ReadSplit(r.file, file)
	}
	r.file = file
}
