package sqlite3

import (
	"errors"
	"io"
	"math"
	"slices"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
)

// count fills in how many messages there are. The newest copy of the bag's metadata is believed when it tells of as
// many messages, in the same time, as the ends of table and index do; any other file is read through.
func (r *Reader) count() error {
	var known bool
	err := r.db.read(func(s *snapshot) error {
		var err error
		known, err = r.countFromMetadata(s.reader())
		return err
	})
	if err != nil || known {
		return err
	}
	return r.countRows()
}

// toldCounts is the part of a bag's metadata that counts.
type toldCounts struct {
	Messages uint64 `yaml:"message_count"`
	Start    struct {
		Nanos uint64 `yaml:"nanoseconds_since_epoch"`
	} `yaml:"starting_time"`
	Duration struct {
		Nanos uint64 `yaml:"nanoseconds"`
	} `yaml:"duration"`
	Topics []struct {
		Topic struct {
			Name string `yaml:"name"`
			Type string `yaml:"type"`
		} `yaml:"topic_metadata"`
		Messages uint64 `yaml:"message_count"`
	} `yaml:"topics_with_message_count"`
}

func (r *Reader) countFromMetadata(p *pages) (bool, error) {
	var told toldCounts
	if len(r.info.Metadata) == 0 || r.index == 0 || yaml.Unmarshal(r.info.Metadata, &told) != nil {
		return false, nil
	}
	table := p.table(r.messages.root)
	if err := table.seek(math.MinInt64); err != nil {
		return false, err
	}
	first, _, ok, err := table.next()
	if err != nil {
		return false, err
	}
	if !ok {
		return true, nil
	}
	if first.rowid < 0 || told.Messages != uint64(r.lastID-first.rowid)+1 {
		return false, nil
	}
	index := p.index(r.index)
	if err := index.seek(key{math.MinInt64, math.MinInt64}); err != nil {
		return false, err
	}
	start, ok, err := index.next()
	if err != nil || !ok {
		return false, err
	}
	end, ok, err := index.end()
	if err != nil || !ok {
		return false, err
	}
	if start.nanos < 0 || told.Start.Nanos != uint64(start.nanos) || told.Duration.Nanos != uint64(end.nanos-start.nanos) {
		return false, nil
	}
	topics := slices.Clone(r.info.Topics)
	var sum uint64
	for _, t := range told.Topics {
		at := slices.IndexFunc(topics, func(topic storage.TopicInfo) bool {
			return topic.Name == t.Topic.Name && topic.Type == t.Topic.Type
		})
		if at < 0 {
			return false, nil
		}
		topics[at].MessageCount += t.Messages
		sum += t.Messages
	}
	if sum != told.Messages {
		return false, nil
	}
	r.info.Topics, r.info.MessageCount = topics, sum
	r.info.StartNanos, r.info.EndNanos = start.nanos, end.nanos
	return true, nil
}

// sliceRows is how many rows are counted before it is made sure that nobody wrote into the file meanwhile.
const sliceRows = 100_000

func (r *Reader) countRows() error {
	place, begun, ended := int64(0), false, false
	for !ended {
		var rows []uint64
		var payload []uint64
		var total span
		var last int64
		var got bool
		err := r.db.read(func(s *snapshot) error {
			rows, payload = make([]uint64, len(r.info.Topics)), make([]uint64, len(r.info.Topics))
			total, got, ended = span{}, false, false
			source, err := newFileSource(s.reader(), &r.messages, place, begun)
			if err != nil {
				return err
			}
			for range sliceRows {
				_, _, row, k, err := source.next()
				if errors.Is(err, io.EOF) {
					ended = true
					return nil
				}
				if err != nil {
					return err
				}
				last, got = k.id, true
				topic, ok := r.topics[row.topic]
				if !ok || k.id > r.lastID {
					continue
				}
				rows[topic]++
				payload[topic] += uint64(row.data.length)
				total.add(1, row.nanos, row.nanos)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if got {
			place, begun = last, true
		}
		r.addCounts(rows, payload, total)
	}
	return nil
}

func (r *Reader) addCounts(rows, payload []uint64, total span) {
	for i := range rows {
		r.info.Topics[i].MessageCount += rows[i]
		r.info.Topics[i].PayloadBytes += payload[i]
	}
	sum := span{r.info.MessageCount, r.info.StartNanos, r.info.EndNanos}
	sum.add(total.messages, total.start, total.end)
	r.info.MessageCount, r.info.StartNanos, r.info.EndNanos = sum.messages, sum.start, sum.end
}
