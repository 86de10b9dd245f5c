package bag

import (
	"maps"

	"rosbagd/storage"
)

// Metadata describes what was written so far.
func (w *Writer) Metadata() Metadata {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.metadata(len(w.files))
}

// Counts is how many messages of each topic the files have, by TopicID; after a failure, how many can be read.
func (w *Writer) Counts() []uint64 {
	var counts []uint64
	for _, topic := range w.Metadata().Topics {
		counts = append(counts, topic.MessageCount)
	}
	return counts
}

// metadata describes the first n files; the counts of topics are always those of all. It is called with mu held.
func (w *Writer) metadata(n int) Metadata {
	m := Metadata{
		Version: w.options.MetadataVersion, StorageID: w.format.ID, CompressionFormat: w.options.CompressionFormat,
		CompressionMode: w.options.CompressionMode, ROSDistro: w.options.ROSDistro, CustomData: maps.Clone(w.custom),
	}
	for i, topic := range w.topics {
		topic.Definition = storage.Definition{}
		m.Topics = append(m.Topics, storage.TopicInfo{Topic: topic, MessageCount: w.counts[i]})
	}
	for _, p := range w.files[:n] {
		info := p.info
		if p == w.current && !w.sealed {
			info = p.writer.Info()
			for i, topic := range info.Topics {
				m.Topics[i].MessageCount += topic.MessageCount
			}
		}
		m.Paths = append(m.Paths, p.final)
		m.Files = append(m.Files, fileInfo(p.name, info)) // without the compressor's extension, as rosbag2's
	}
	m.summarize()
	return m
}

// closedMetadata describes the first n files alone, topics included, so that it agrees with itself. It is called with mu
// held.
func (w *Writer) closedMetadata(n int) Metadata {
	m := w.metadata(n)
	for i := range m.Topics {
		m.Topics[i].MessageCount = 0
	}
	for _, p := range w.files[:n] {
		for i, topic := range p.info.Topics {
			m.Topics[i].MessageCount += topic.MessageCount
		}
	}
	return m
}

// innerMetadata is the copy for the file behind the first n-1. Files have the names there that they have before they are
// compressed, as in rosbag2: the copy is compressed with them.
func (w *Writer) innerMetadata(n int) ([]byte, error) {
	w.mu.Lock()
	m := w.metadata(n)
	for i := range m.Paths {
		m.Paths[i] = w.files[i].name
	}
	for id, offered := range w.offers {
		m.Topics[id].OfferedQoS = offered
	}
	w.mu.Unlock()
	return m.EncodeInnerVersion(w.options.MetadataVersion)
}

func (w *Writer) writeMetadata(metadata Metadata) error {
	data, err := metadata.EncodeVersion(w.options.MetadataVersion)
	if err != nil {
		return err
	}
	return writeFile(w.directory, MetadataName, data)
}
