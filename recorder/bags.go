package recorder

import (
	"context"

	"rosbagd/bag"
	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// BagContent takes what a bag is made of. All calls come from one goroutine.
type BagContent interface {
	// AddTopic fails for this topic only.
	AddTopic(storage.Topic) (storage.TopicID, error)
	// UpdateTopic replaces the offers of a topic.
	UpdateTopic(id storage.TopicID, offered []qos.Profile) error
	// Write has copied the payloads when it returns. A *storage.RejectedError costs single messages, any other error
	// ends the bag.
	Write([]storage.Message) error
	SetCustomData(key, value string)
}

// BagFiles is the life of a bag's files. Split and Seal come from the goroutine of BagContent.
type BagFiles interface {
	// Run does what a bag does beside being written to, until ctx ends or the bag is sealed.
	Run(ctx context.Context) error
	// Split goes on in a new file.
	Split() (closed, opened string, err error)
	// Seal finishes the bag and joins what Run started.
	Seal() error
	// Counts is how many messages the files have, by the topic's id; after a failure, how many can be read.
	Counts() []uint64
	// CurrentFile is the path of the file that is being written, or was the last one.
	CurrentFile() string
}

// Bag is one bag that is being written; *bag.Writer is one.
type Bag interface {
	BagContent
	BagFiles
}

// BagFactory creates a bag at uri. Its error wraps bag.ErrExists when there is something at uri already. split is to be
// called, from any goroutine, when a file that another one follows is final; it does not block.
type BagFactory func(uri string, split func(closed, opened string)) (Bag, error)

// NewBags is the factory of real bags, all with the same options. Their OnSplit is the recorder's.
func NewBags(options bag.WriterOptions) BagFactory {
	return func(uri string, split func(closed, opened string)) (Bag, error) {
		options := options
		options.OnSplit = split
		w, err := bag.Create(uri, options)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
}
