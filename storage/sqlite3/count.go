package sqlite3

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
)

// counted is what a pass through messages has found.
type counted struct {
	rows, payload []uint64 // by topic
	total         span
	ids           span
	// foreign are messages of topics that the file does not list, by topic id: the first maxForeign of these.
	foreign      map[int64]uint64
	foreignCount uint64
}

const maxForeign = 16

func newCounted(topics int) *counted {
	return &counted{rows: make([]uint64, topics), payload: make([]uint64, topics), foreign: map[int64]uint64{}}
}

func (c *counted) add(topics map[int64]storage.TopicID, id int64, found row) {
	c.ids.add(1, id, id)
	topic, ok := topics[found.topic]
	if !ok {
		c.foreignCount++
		if _, ok := c.foreign[found.topic]; ok || len(c.foreign) < maxForeign {
			c.foreign[found.topic]++
		}
		return
	}
	c.rows[topic]++
	c.payload[topic] += uint64(found.data.length)
	c.total.add(1, found.nanos, found.nanos)
}

// addTo puts the counts into the description of a file.
func (c *counted) addTo(info *storage.Info) {
	for i := range c.rows {
		info.Topics[i].MessageCount += c.rows[i]
		info.Topics[i].PayloadBytes += c.payload[i]
	}
	total := span{info.MessageCount, info.StartNanos, info.EndNanos}
	total.add(c.total.messages, c.total.start, c.total.end)
	info.MessageCount, info.StartNanos, info.EndNanos = total.messages, total.start, total.end
}

// foreignText is a part of a sentence that names the topics which are not known.
func (c *counted) foreignText() string {
	if c.foreignCount == 0 {
		return ""
	}
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(c.foreign)) {
		ids = append(ids, fmt.Sprint(id))
	}
	return fmt.Sprintf("%d messages of topics that it does not list (ids %s)", c.foreignCount, strings.Join(ids, ", "))
}

// count fills in how many messages there are. The newest copy of the bag's metadata is believed when it tells of as
// many messages, in the same time, as the ends of table and index do; any other file is read through.
func (r *Reader) count() error {
	if r.counted != nil {
		r.counted.addTo(&r.info)
		r.noteForeign()
		return nil
	}
	var known bool
	err := r.db.read(func(s *snapshot, _ int) error {
		var err error
		known, err = r.countFromMetadata(s.reader())
		return err
	})
	if err != nil || known {
		return err
	}
	if err := r.countRows(); err != nil {
		return err
	}
	r.noteForeign()
	return nil
}

func (r *Reader) noteForeign() {
	if text := r.counted.foreignText(); text != "" {
		r.info.Damage = "it has " + text
	}
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
	topics, sum, ok := told.topics(r.info.Topics)
	if !ok {
		return false, nil
	}
	r.info.Topics, r.info.MessageCount = topics, sum
	r.info.StartNanos, r.info.EndNanos = start.nanos, end.nanos
	return true, nil
}

// topics gives the topics with what the metadata tells of them; ok is false when it does not fit itself or them.
func (t *toldCounts) topics(known []storage.TopicInfo) (topics []storage.TopicInfo, sum uint64, ok bool) {
	topics = slices.Clone(known)
	type name struct{ name, typ string }
	at := make(map[name]int, len(topics))
	for i, topic := range topics {
		at[name{topic.Name, topic.Type}] = i
	}
	for _, told := range t.Topics {
		i, ok := at[name{told.Topic.Name, told.Topic.Type}]
		if !ok {
			return nil, 0, false
		}
		topics[i].MessageCount += told.Messages
		sum += told.Messages
	}
	return topics, sum, sum == t.Messages
}

// sliceRows is how many rows are counted before it is made sure that nobody wrote into the file meanwhile.
const sliceRows = 100_000

type numberedRow struct {
	id  int64
	row row
}

func (r *Reader) countRows() error {
	r.counted = newCounted(len(r.info.Topics))
	for ended, begun, place := false, false, int64(0); !ended; {
		var found []numberedRow
		err := r.db.read(func(s *snapshot, try int) error {
			found, ended = found[:0], false
			source, err := newFileSource(s.reader(), r, place, begun)
			if err != nil {
				return err
			}
			for range max(sliceRows>>try, 64) {
				_, _, row, k, err := source.next()
				if errors.Is(err, io.EOF) {
					ended = true
					return nil
				}
				if err != nil {
					return err
				}
				found = append(found, numberedRow{k.id, row})
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, f := range found {
			if f.id <= r.lastID {
				r.counted.add(r.topics, f.id, f.row)
			}
			place, begun = f.id, true
		}
	}
	r.counted.addTo(&r.info)
	return nil
}
