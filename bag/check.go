package bag

import (
	"errors"
	"io/fs"
	"slices"

	"rosbagd/storage"
)

// CheckFiles looks at the end of every file and notes what is damaged or not as metadata.yaml tells. Where messages are
// missing, Metadata and Topics tell from then on what the files have. Compressed files are passed over. It is called
// before the Reader is used otherwise.
func (r *Reader) CheckFiles() {
	if r.metadata.CompressionMode != "" {
		return
	}
	if len(r.files) == 0 {
		r.addNote("%s: metadata.yaml lists no file", r.path)
	}
	differs := false
	for _, f := range r.files {
		reader, err := r.use(f)
		if err != nil {
			// What metadata.yaml tells is all there is to tell. A file that is not there was noted by Open.
			if !errors.Is(err, storage.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
				r.addNote("%s: can not be read: %v", f.path, err)
			}
			continue
		}
		info := reader.Info()
		found := fileInfo(f.described.Path, info)
		if f.known && found == f.described {
			continue
		}
		differs = true
		if f.known && info.MessageCount != f.described.MessageCount {
			r.addNote("%s: has %d of the %d messages that metadata.yaml tells", f.path, info.MessageCount, f.described.MessageCount)
		}
		f.described, f.known = found, true
	}
	if differs {
		r.countFromFiles()
	}
}

func (r *Reader) countFromFiles() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.topics {
		r.topics[i].MessageCount = 0
	}
	r.metadata.Files = nil
	for _, f := range r.files {
		r.metadata.Files = append(r.metadata.Files, f.described)
		if f.reader == nil {
			continue
		}
		for i, topic := range f.reader.Info().Topics {
			r.topics[f.topics[i]].MessageCount += topic.MessageCount
		}
	}
	r.metadata.Topics = slices.Clone(r.topics)
	r.metadata.summarize()
}
