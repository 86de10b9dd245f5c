package sqlite3

import (
	"encoding/json"
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

// join adds what another pass has found.
func (c *counted) join(other *counted) {
	for i := range c.rows {
		c.rows[i] += other.rows[i]
		c.payload[i] += other.payload[i]
	}
	c.total.add(other.total.messages, other.total.start, other.total.end)
	c.ids.add(other.ids.messages, other.ids.start, other.ids.end)
	c.foreignCount += other.foreignCount
	for id, n := range other.foreign {
		if _, ok := c.foreign[id]; ok || len(c.foreign) < maxForeign {
			c.foreign[id] += n
		}
	}
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

// count fills in how many messages there are, and how many of each topic if the file tells it: in what its writer noted,
// or in the newest copy of the bag's metadata. These are believed when they tell of as many messages, in the same time,
// as the ends of table and index do. A file without the index is read through.
func (r *Reader) count() error {
	if r.counted == nil {
		indexed := false
		err := r.db.read(func(s *snapshot, _ int) error {
			var err error
			indexed, err = r.countFromEnds(s.reader())
			return err
		})
		if err != nil || indexed {
			return err
		}
		if r.counted, err = r.countRows(); err != nil {
			return err
		}
	}
	r.counted.addTo(&r.info)
	r.noteForeign()
	return nil
}

// countLate counts the messages of each topic after the file was opened. Damage that is met is told as if reading had
// met it.
func (r *Reader) countLate() storage.Info {
	info := r.info
	info.Topics = slices.Clone(info.Topics)
	count, err := r.countRows()
	if storage.IsCorruption(err) {
		if err = r.salvage(err); err == nil {
			r.mu.Lock()
			count = r.left
			r.mu.Unlock()
		}
	}
	if err != nil {
		info.Damage = fmt.Sprintf("its messages can not be counted: %v", err)
		return info
	}
	info.MessageCount, info.StartNanos, info.EndNanos = 0, 0, 0
	count.addTo(&info)
	if text := count.foreignText(); text != "" {
		info.Damage = "it has " + text
	}
	return info
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

// countFromEnds takes the number of messages and their times from the ends of table and index; false when there is no
// index.
func (r *Reader) countFromEnds(p *pages) (bool, error) {
	if r.index == 0 {
		return false, nil
	}
	table := p.table(r.messages.root)
	if err := table.seek(math.MinInt64); err != nil {
		return false, err
	}
	first, _, ok, err := table.next()
	if err != nil || !ok {
		return err == nil, err
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
	if err != nil || !ok || first.rowid < 0 || start.nanos < 0 || first.rowid > r.lastID {
		return false, err
	}
	r.info.MessageCount = uint64(r.lastID-first.rowid) + 1
	r.info.StartNanos, r.info.EndNanos = start.nanos, end.nanos
	if !r.countFromOwn() && !r.countFromMetadata() {
		r.partial = true
	}
	return true, nil
}

func (r *Reader) countFromOwn() bool {
	var told ownCounts
	if len(r.own) == 0 || json.Unmarshal(r.own, &told) != nil || told.Start != r.info.StartNanos || told.End != r.info.EndNanos {
		return false
	}
	topics, sum := slices.Clone(r.info.Topics), uint64(0)
	for id, count := range told.Topics {
		topic, ok := r.topics[int64(id)+1]
		if !ok {
			return false
		}
		topics[topic].MessageCount += count
		sum += count
	}
	if sum != r.info.MessageCount {
		return false
	}
	r.info.Topics = topics
	return true
}

func (r *Reader) countFromMetadata() bool {
	var told toldCounts
	if len(r.info.Metadata) == 0 || yaml.Unmarshal(r.info.Metadata, &told) != nil {
		return false
	}
	if told.Messages != r.info.MessageCount || told.Start.Nanos != uint64(r.info.StartNanos) ||
		told.Duration.Nanos != uint64(r.info.EndNanos-r.info.StartNanos) {
		return false
	}
	topics, sum, ok := told.topics(r.info.Topics)
	if !ok || sum != r.info.MessageCount {
		return false
	}
	r.info.Topics = topics
	return true
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

func (r *Reader) countRows() (*counted, error) {
	total := newCounted(len(r.info.Topics))
	for ended, begun, place := false, false, int64(math.MinInt64); !ended; {
		var slice *counted
		last := place
		err := r.db.read(func(s *snapshot, try int) error {
			slice, last, ended = newCounted(len(r.info.Topics)), place, false
			source, err := newFileSource(s.reader(), r, place, begun)
			if err != nil {
				return err
			}
			for range max(sliceRows>>try, 64) {
				_, _, row, k, err := source.next()
				if errors.Is(err, io.EOF) || err == nil && k.id > r.lastID {
					ended = true
					return nil
				}
				if err != nil {
					return err
				}
				slice.add(r.topics, k.id, row)
				last = k.id
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		total.join(slice)
		begun, place = begun || last != place, last
	}
	return total, nil
}
