package bag

import (
	"errors"
	"io/fs"
	"slices"

	"rosbagd/storage"
)

// CheckFiles looks at the end of every file and notes what is damaged or not as metadata.yaml tells. Where they differ,
// Metadata and Topics tell from then on what the files have. Compressed files that are not unpacked yet are passed
// over. It is called before the Reader is used otherwise. It is false when there are files and none can be read.
func (r *Reader) CheckFiles() bool {
	differs, unreadable := false, 0
	for _, m := range r.members {
		changed, readable := m.check()
		differs = differs || changed
		if !readable {
			unreadable++
		}
	}
	if differs {
		r.correct()
	}
	return unreadable < len(r.members)
}

// correct takes over what the files tell.
func (r *Reader) correct() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.join(); err != nil {
		r.note("%v", err) // a topic that metadata.yaml does not list
		return
	}
	at := topicsByKey(r.metadata.Topics)
	for i := range r.topics {
		topic := &r.topics[i]
		if k, ok := at[topicKey{topic.Name, topic.Type}]; ok {
			topic.MessageCount = r.metadata.Topics[k].MessageCount
			topic.OfferedQoS = r.metadata.Topics[k].OfferedQoS
		}
	}
	r.metadata.Topics = slices.Clone(r.topics)
}

// check compares the files of a bag with its metadata, and corrects that.
func (m *member) check() (differs, readable bool) {
	r := m.reader
	if m.rebuilt {
		return false, true // the metadata is what the files tell
	}
	readable = len(m.files) == 0
	if len(m.files) == 0 {
		r.addNote("%s: metadata.yaml lists no file", m.path)
	}
	counted := m.metadata.uncounted()
	all, partial, recount := true, false, false // files; counts of topics; whether these are needed
	var newest storage.Info
	for _, f := range m.files {
		if r.wouldUnpack(f) {
			all, readable = false, true
			continue
		}
		info, counts, err := r.inspect(f, &counted)
		partial = partial || !counts
		if err != nil {
			// What metadata.yaml tells of it is all there is to tell, of the topics too: it does not say which of a
			// topic's messages are in which file. A file that is not there was noted by Open.
			all = false
			if !errors.Is(err, storage.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) && f.refused == nil {
				r.addNote("%s: can not be read: %v", f.path, err)
			}
			continue
		}
		readable, newest = true, info
		found := fileInfo(f.described.Path, info)
		if f.told && found == f.described {
			f.known, f.endNanos = true, f.described.EndNanos()
			continue
		}
		differs = true
		recount = recount || !f.told || found.MessageCount != f.described.MessageCount
		if f.told && found.MessageCount != f.described.MessageCount {
			r.addNote("%s: has %d of the %d messages that metadata.yaml tells", f.path, found.MessageCount, f.described.MessageCount)
		}
		f.described, f.known, f.endNanos = found, true, found.EndNanos()
	}
	if !differs {
		return m.addLateOffers(newest), readable
	}
	m.metadata.Files = nil
	for _, f := range m.files {
		m.metadata.Files = append(m.metadata.Files, f.described)
	}
	if all && partial && recount {
		counted = m.metadata.uncounted()
		for _, f := range m.files {
			if info, err := r.ask(f, storage.Reader.Info); err == nil { // otherwise it was told
				counted.addCounts(info)
			}
		}
		partial = false
	}
	if all && !partial { // otherwise the files have as many messages as metadata.yaml tells, and so have the topics
		m.metadata.Topics = counted.Topics
	}
	m.metadata.summarize()
	m.addLateOffers(newest)
	return true, readable
}

// uncounted is a copy of the topics, without any message.
func (m *Metadata) uncounted() Metadata {
	counted := Metadata{Topics: slices.Clone(m.Topics)}
	for i := range counted.Topics {
		counted.Topics[i].MessageCount = 0
	}
	return counted
}

// inspect gives what a file tells, and adds its messages to the topics. A file whose messages would all have to be gone
// through is not asked for those of each topic (counts is false) as long as their sum is what metadata.yaml tells.
func (r *Reader) inspect(f *file, counted *Metadata) (info storage.Info, counts bool, err error) {
	info, err = r.ask(f, func(reader storage.Reader) storage.Info {
		outline := storage.Outline(reader)
		if f.told && outline.MessageCount == f.described.MessageCount {
			return outline
		}
		return reader.Info()
	})
	if err != nil {
		return storage.Info{}, true, err
	}
	counted.addCounts(info)
	sum := uint64(0)
	for _, topic := range info.Topics {
		sum += topic.MessageCount
	}
	return info, sum == info.MessageCount, nil
}

// ask opens a file for a question.
func (r *Reader) ask(f *file, question func(storage.Reader) storage.Info) (storage.Info, error) {
	reader, err := r.acquire(f)
	if err != nil {
		return storage.Info{}, err
	}
	info := question(reader)
	return info, r.release(f)
}

// wouldUnpack says whether a file can not be opened without unpacking it.
func (r *Reader) wouldUnpack(f *file) bool {
	if f.refused != nil || f.plain != "" || f.reader != nil {
		return false
	}
	packed, err := isPacked(f.path)
	return err == nil && packed && !r.isUnpacked(f)
}
