package bag

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// TypeConflictError is returned by OpenAll for a topic that has two types or serialization formats in two bags.
type TypeConflictError struct {
	Topic       string
	Bag, Type   string
	Other, Than string // the other bag, and what the topic is there
}

func (e *TypeConflictError) Error() string {
	return fmt.Sprintf("open bags: topic %s: %v: %s in %s, %s in %s", e.Topic, storage.ErrTopicType, e.Type, e.Bag, e.Than, e.Other)
}

// Unwrap makes it a storage.ErrTopicType.
func (e *TypeConflictError) Unwrap() error { return storage.ErrTopicType }

// join makes the metadata of the whole. A single bag's is left as it is.
func (r *Reader) join() error {
	r.metadata = r.members[0].metadata
	if len(r.members) == 1 {
		return nil
	}
	whole := Metadata{Version: MetadataVersion}
	var ids, distros, modes, compressions []string
	from := map[string]*member{}
	at := map[topicKey]int{}
	for _, m := range r.members {
		for _, topic := range m.metadata.Topics {
			key := topicKey{topic.Name, topic.Type}
			i, known := at[key]
			if other, met := from[topic.Name]; met && other != m && (!known || whole.Topics[i].SerializationFormat != topic.SerializationFormat) {
				return conflict(whole.Topics, topic, m, other)
			}
			if !known {
				from[topic.Name] = m
				at[key] = len(whole.Topics)
				whole.Topics = append(whole.Topics, topic)
				continue
			}
			addMessages(&whole.Topics[i], topic)
			whole.Topics[i].OfferedQoS = joinOffers(whole.Topics[i].OfferedQoS, topic.OfferedQoS)
			if whole.Topics[i].TypeHash == "" {
				whole.Topics[i].TypeHash = topic.TypeHash
			}
		}
		for _, path := range m.metadata.Paths {
			whole.Paths = append(whole.Paths, m.joined(path))
		}
		for _, f := range m.files {
			described := f.described
			described.Path = m.joined(described.Path)
			whole.Files = append(whole.Files, described)
		}
		if whole.CustomData == nil {
			whole.CustomData = maps.Clone(m.metadata.CustomData)
		}
		for key, value := range m.metadata.CustomData {
			if _, known := whole.CustomData[key]; !known {
				whole.CustomData[key] = value
			}
		}
		ids, distros = addWord(ids, m.metadata.StorageID), addWord(distros, m.metadata.ROSDistro)
		modes, compressions = addWord(modes, m.metadata.CompressionMode), addWord(compressions, m.metadata.CompressionFormat)
		whole.joinTimes(m.metadata)
	}
	whole.StorageID, whole.ROSDistro = strings.Join(ids, ", "), strings.Join(distros, ", ")
	whole.CompressionMode, whole.CompressionFormat = strings.Join(modes, ", "), strings.Join(compressions, ", ")
	r.metadata = whole
	return nil
}

// joined is the path of a file within a reader of many bags.
func (m *member) joined(path string) string {
	if filepath.Base(m.path) == path {
		return m.path // a single file
	}
	return filepath.Join(m.path, path)
}

// joinTimes adds the whole of another bag; one without messages has no times.
func (m *Metadata) joinTimes(other Metadata) {
	if other.MessageCount == 0 {
		return
	}
	if m.MessageCount == 0 {
		m.StartNanos, m.Duration, m.MessageCount = other.StartNanos, other.Duration, other.MessageCount
		return
	}
	both := Metadata{Files: []FileInfo{
		{StartNanos: m.StartNanos, Duration: m.Duration, MessageCount: m.MessageCount},
		{StartNanos: other.StartNanos, Duration: other.Duration, MessageCount: other.MessageCount},
	}}
	both.summarize()
	m.StartNanos, m.Duration, m.MessageCount = both.StartNanos, both.Duration, both.MessageCount
}

func conflict(known []storage.TopicInfo, topic storage.TopicInfo, m, other *member) error {
	i := slices.IndexFunc(known, func(t storage.TopicInfo) bool { return t.Name == topic.Name })
	describe := func(t storage.TopicInfo) string { return fmt.Sprintf("%s (%s)", t.Type, t.SerializationFormat) }
	return &TypeConflictError{
		Topic: topic.Name, Bag: other.path, Type: describe(known[i]), Other: m.path, Than: describe(topic),
	}
}

// joinOffers adds the offers that are not in the first list as often as in the second.
func joinOffers(offers, more []qos.Profile) []qos.Profile {
	joined := slices.Clone(offers)
	left := slices.Clone(offers)
	for _, offer := range more {
		if i := slices.Index(left, offer); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		joined = append(joined, offer)
	}
	return joined
}

// addMessages adds the messages of a topic in another file or bag. Their size is only known where both tell it.
func addMessages(known *storage.TopicInfo, topic storage.TopicInfo) {
	tell := func(t storage.TopicInfo) bool { return t.MessageCount == 0 || t.PayloadBytes > 0 }
	if tell(*known) && tell(topic) {
		known.PayloadBytes += topic.PayloadBytes
	} else {
		known.PayloadBytes = 0
	}
	known.MessageCount += topic.MessageCount
}

func addWord(words []string, word string) []string {
	if word == "" || slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}
