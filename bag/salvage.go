package bag

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"rosbagd/storage"
)

// salvage copies what can be read of a file into another one of the same format, and counts what can not.
type salvage struct {
	damaged  int   // parts that can not be read
	first    error // the first of them
	rejected int   // messages that the format can not hold
	single   bool  // copies message by message, so that nothing that the file says of its blocks is taken over
}

// missing says in a sentence what could not be read.
func (s *salvage) missing() string {
	damage, rejected := "", ""
	var corruption *storage.CorruptionError
	if errors.As(s.first, &corruption) {
		damage = fmt.Sprintf("damaged at byte %d: %v", corruption.Offset, corruption.Err)
	}
	if s.damaged > 1 {
		damage += fmt.Sprintf(", and %d more damaged parts", s.damaged-1)
	}
	if s.rejected > 0 {
		rejected = fmt.Sprintf("%d messages that the format can not hold", s.rejected)
	}
	return sentences(damage, rejected)
}

func sentences(texts ...string) string {
	var said []string
	for _, text := range texts {
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}

func (s *salvage) copyFile(ctx context.Context, reader storage.Reader, writer storage.Writer) error {
	from, fromBlocks := reader.(storage.BlockReader)
	to, toBlocks := writer.(storage.BlockWriter)
	blocks := fromBlocks && toBlocks && !s.single
	var ids []storage.TopicID
	for i, topic := range reader.Info().Topics {
		add := func() (storage.TopicID, error) { return writer.AddTopic(topic.Topic) }
		if blocks {
			add = func() (storage.TopicID, error) { return to.AddTopicOf(reader, storage.TopicID(i)) }
		}
		id, err := add()
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	write := s.writeTo(writer, ids)
	var err error
	if blocks && to.Accepts(reader) {
		err = s.copyBlocks(ctx, from, to, write)
	} else {
		err = s.messages(ctx, reader, write)
	}
	if err != nil {
		return err
	}
	return copyExtras(reader, writer)
}

// writeTo gives a function that writes one message with the ids of the new file.
func (s *salvage) writeTo(writer storage.Writer, ids []storage.TopicID) func(storage.Message) error {
	one := make([]storage.Message, 1)
	return func(m storage.Message) error {
		m.Topic = ids[m.Topic]
		one[0] = m
		err := writer.Write(one)
		var refused *storage.RejectedError
		if errors.As(err, &refused) {
			s.rejected++
			return nil
		}
		return err
	}
}

// copyBlocks copies each block as it is when its content is as it was written. Of the others, single messages may be left.
func (s *salvage) copyBlocks(ctx context.Context, from storage.BlockReader, to storage.BlockWriter, write func(storage.Message) error) error {
	blocks, err := from.Blocks()
	if err != nil {
		return err
	}
	for i, block := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if block.Whole {
			_, err := to.CopyBlock(from, i, storage.CheckContent)
			if err == nil {
				continue
			}
			if !storage.IsCorruption(err) && !errors.Is(err, storage.ErrOtherIDs) {
				return err
			}
		}
		it, err := from.BlockMessages(i)
		if err != nil {
			return err
		}
		if err := s.each(ctx, it, write); err != nil {
			return err
		}
	}
	return nil
}

func (s *salvage) messages(ctx context.Context, reader storage.Reader, visit func(storage.Message) error) error {
	it, err := reader.Messages(storage.Query{Order: storage.ByFile})
	if err != nil {
		return err
	}
	return s.each(ctx, it, visit)
}

// each visits the messages that can be read, and closes the iterator.
func (s *salvage) each(ctx context.Context, it storage.Iterator, visit func(storage.Message) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, it.Close())
		}
		m, err := it.Next()
		switch {
		case err == nil:
			err = visit(m)
		case errors.Is(err, io.EOF):
			return it.Close()
		case storage.IsCorruption(err):
			if s.damaged++; s.damaged == 1 {
				s.first = err
			}
			err = nil
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
}

// copyExtras copies attachments and records, as far as both sides have them.
func copyExtras(reader storage.Reader, writer storage.Writer) error {
	from, ok := reader.(storage.ExtraReader)
	if !ok {
		return nil
	}
	to, ok := writer.(storage.ExtraWriter)
	if !ok {
		return nil
	}
	return from.Extras(to.WriteAttachment, to.WriteRecord)
}
