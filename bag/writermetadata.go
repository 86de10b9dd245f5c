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

// bagMetadata is what is the same for all files: topics without counts, and no files. It is called with mu held.
func (w *Writer) bagMetadata() Metadata {
	m := Metadata{
		Version: w.options.MetadataVersion, StorageID: w.format.ID, CompressionFormat: w.options.CompressionFormat,
		CompressionMode: w.options.CompressionMode, ROSDistro: w.options.ROSDistro, CustomData: maps.Clone(w.custom),
	}
	for _, topic := range w.topics {
		topic.Definition = storage.Definition{}
		m.Topics = append(m.Topics, storage.TopicInfo{Topic: topic})
	}
	return m
}

// metadata describes the first n files; the counts of topics are always those of all. It is called with mu held.
func (w *Writer) metadata(n int) Metadata {
	m := w.bagMetadata()
	addCounts(m.Topics, w.counts)
	for _, p := range w.files[:n] {
		info := p.info
		if p == w.current && !w.sealed {
			info = p.writer.Info()
			addCounts(m.Topics, topicCounts(info))
		}
		m.Paths = append(m.Paths, p.final)
		m.Files = append(m.Files, fileInfo(p.name, info)) // without the compressor's extension, as rosbag2's
	}
	m.summarize()
	return m
}

// publishedMetadata describes the files that are published alone, topics included, so that it agrees with itself. It is
// called with mu held.
func (w *Writer) publishedMetadata() Metadata {
	m := w.metadata(w.published)
	for i := range m.Topics {
		m.Topics[i].MessageCount = 0
	}
	addCounts(m.Topics, w.publishedCounts)
	return m
}

// innerMetadata is the copy for a file: what it says of files and counts is what the file itself has, none at its start.
// So it stays small however many files there are, and a reader of the file alone has no use for the others. The file has
// the name there that it has before it is compressed, as in rosbag2: the copy is compressed with it.
func (w *Writer) innerMetadata(p *part) ([]byte, error) {
	w.mu.Lock()
	m := w.bagMetadata()
	for id, offered := range w.offers {
		m.Topics[id].OfferedQoS = offered
	}
	w.mu.Unlock()
	addCounts(m.Topics, topicCounts(p.info))
	m.Paths, m.Files = []string{p.name}, []FileInfo{fileInfo(p.name, p.info)}
	m.summarize()
	return m.EncodeInnerVersion(w.options.MetadataVersion)
}

// topicCounts is how many messages of each topic a file has.
func topicCounts(info storage.Info) []uint64 {
	counts := make([]uint64, 0, len(info.Topics))
	for _, topic := range info.Topics {
		counts = append(counts, topic.MessageCount)
	}
	return counts
}

// addCounts adds the counts of the first topics.
func addCounts(topics []storage.TopicInfo, counts []uint64) {
	for i, count := range counts {
		topics[i].MessageCount += count
	}
}

func (w *Writer) writeMetadata(metadata Metadata) error {
	data, err := metadata.EncodeVersion(w.options.MetadataVersion)
	if err != nil {
		return err
	}
	return writeFile(w.directory, MetadataName, data)
}
