package storage

import "errors"

// ErrOtherIDs is returned for a block that can not be copied as it is, because it names topics in another way than the
// file that is written, or is not described well enough. Its messages can be copied one by one.
var ErrOtherIDs = errors.New("block does not fit into this file as it is")

// Block is messages that stand together in a file with an index of their own: in MCAP a chunk (MCAP specification,
// Chunk and Message Index).
type Block struct {
	StartNanos, EndNanos int64 // smallest and largest log time
	Size                 int64 // bytes in the file, with the index
	// Whole is false for messages that can only be copied one by one.
	Whole bool
}

// BlockReader is a Reader of a format whose messages stand in blocks.
type BlockReader interface {
	Reader
	// Blocks lists where the messages of the file stand, in its order.
	Blocks() ([]Block, error)
	// BlockMessages gives the messages of one block, by its position in Blocks, as they stand in it.
	BlockMessages(block int) (Iterator, error)
}

// BlockCheck says how far a block is looked at before it is copied.
type BlockCheck int

const (
	// CheckIndex reads the head of a block and its index. The content is compared with its checksum where that takes no
	// unpacking, which is when it is not compressed and has one.
	CheckIndex BlockCheck = iota
	// CheckContent unpacks the block for its checksum and the records in it.
	CheckContent
)

// BlockWriter is a Writer of such a format. Its methods belong to the goroutine that calls Write.
type BlockWriter interface {
	Writer
	// AddTopicOf is AddTopic for the topic of a file of the same format whose blocks are to be copied: it gets the ids
	// that it has there, if these are free.
	AddTopicOf(from Reader, topic TopicID) (TopicID, error)
	// Accepts says whether the blocks of a file fit: all its topics have the same ids and the same description here.
	Accepts(from Reader) bool
	// CopyBlock appends a block, by its position in Blocks. ErrOtherIDs or a *CorruptionError means that nothing was
	// written of it and that the Writer goes on; any other error is final, as one of Write.
	// It tells how many messages the block has.
	CopyBlock(from Reader, block int, check BlockCheck) (uint64, error)
}
