package mcap

import (
	"slices"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// announce writes the channels of topics that the file does not describe yet, and their schemas when these are new. It
// waits for the first chunk or flush behind AddTopic: publishers of a topic are found one after the other, and a channel
// can not be changed. The caller holds mu.
func (w *Writer) announce() error {
	if w.announced == len(w.channels) {
		return nil
	}
	start := w.sink.offset()
	err := w.writeChannels()
	if err == nil {
		err = w.sink.flush() // so that the file ends with a whole record whatever the next write does
	}
	if err != nil {
		w.builder.reset() // what it has will never be in the file
		return w.fail(start, err)
	}
	w.announced = len(w.channels)
	return nil
}

func (w *Writer) writeChannels() error {
	for _, channel := range w.channels[w.announced:] {
		if _, ok := w.described[channel.SchemaID]; !ok {
			if err := w.library.WriteSchema(w.schemas[channel.SchemaID].record(channel.SchemaID)); err != nil {
				return err
			}
			w.described[channel.SchemaID] = struct{}{}
		}
		if err := w.library.WriteChannel(channel); err != nil {
			return err
		}
	}
	return nil
}

// UpdateOffers implements storage.OfferUpdater: as long as the channel is not written.
func (w *Writer) UpdateOffers(id storage.TopicID, offered []qos.Profile) bool {
	w.mu.Lock()
	defer w.unlock()
	if w.failed != nil || int(id) < w.announced || int(id) >= len(w.channels) {
		return false
	}
	topic := &w.topics[id].Topic
	topic.OfferedQoS = slices.Clone(offered)
	w.channels[id] = w.channel(w.channels[id].ID, w.channels[id].SchemaID, *topic)
	return true
}
