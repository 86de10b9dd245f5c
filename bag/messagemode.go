package bag

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"rosbagd/storage"
	"rosbagd/storage/compression"
)

// chooseMessageMode decides whether the messages of a bag are compressed one by one: metadata.yaml says it, or the copy
// of it in the files. Files of a bag that has neither are asked: no message in CDR begins as a compressed one does.
func (m *member) chooseMessageMode() error {
	mode := m.metadata.CompressionMode
	switch mode {
	case CompressionMessage, CompressionFile:
		codec, err := compression.Lookup(cmp.Or(strings.ToLower(m.metadata.CompressionFormat), CompressionZstd))
		if err != nil {
			return fmt.Errorf("open bag %s: %w", m.path, err)
		}
		if mode == CompressionMessage {
			m.decompress = codec.Decompress
		}
		return nil
	case "":
	default:
		return fmt.Errorf("open bag %s: compression mode %s: %w", m.path, storage.Printable(mode), storage.ErrUnsupported)
	}
	if !m.rebuilt {
		return nil
	}
	for _, f := range m.files {
		if f.described.MessageCount == 0 {
			continue
		}
		compressed, err := m.reader.beginsCompressed(f)
		if err != nil || !compressed {
			return err
		}
		m.metadata.CompressionMode, m.metadata.CompressionFormat = CompressionMessage, CompressionZstd
		return m.chooseMessageMode()
	}
	return nil
}

// beginsCompressed looks at the first message of a file.
func (r *Reader) beginsCompressed(f *file) (compressed bool, err error) {
	reader, err := r.acquire(f)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.release(f)) }()
	// Whatever is wrong is told when the messages are read.
	first, found, err := firstMessage(reader, storage.Query{Order: storage.ByFile})
	return err == nil && found && bytes.HasPrefix(first.Data, packedMagic), nil
}

// unpackMessage gives a message with its payload as it was sent.
func (r *Reader) unpackMessage(f *file, m storage.Message) (storage.Message, error) {
	if f.member.decompress == nil {
		return m, nil
	}
	data, err := f.member.decompress(nil, m.Data)
	if err == nil {
		m.Data = data
		return m, nil
	}
	return storage.Message{}, &storage.CorruptionError{
		Path: f.path, Offset: -1,
		Err: fmt.Errorf("message of %s at %d: %w", storage.Printable(r.topic(m.Topic).Name), m.LogTimeNanos, err),
	}
}
