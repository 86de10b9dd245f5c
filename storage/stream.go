package storage

// Stream gives the messages of a file in the order in which they stand in it, while the file is still being unpacked.
type Stream interface {
	// Next returns io.EOF after the last message; see Iterator. Topic ids count up as topics turn up.
	Next() (Message, error)
	// Topics are the topics that were met until now.
	Topics() []Topic
	Close() error
}
