package bag

import "rosbagd/storage"

// addOffers takes offers of topics that have fewer. What files say of a topic is what its first publishers offered;
// the copy of the metadata that they get when they are closed knows of those that came later.
func (m *Metadata) addOffers(topics []storage.TopicInfo) (changed bool) {
	at := topicsByKey(m.Topics)
	for _, topic := range topics {
		i, ok := at[topicKey{topic.Name, topic.Type}]
		if ok && len(topic.OfferedQoS) > len(m.Topics[i].OfferedQoS) {
			m.Topics[i].OfferedQoS = topic.OfferedQoS
			changed = true
		}
	}
	return changed
}

// fillOffers takes offers of topics that have none: files of the oldest formats keep none.
func (m *Metadata) fillOffers(topics []storage.TopicInfo) {
	at := topicsByKey(m.Topics)
	for _, topic := range topics {
		i, ok := at[topicKey{topic.Name, topic.Type}]
		if ok && len(m.Topics[i].OfferedQoS) == 0 {
			m.Topics[i].OfferedQoS = topic.OfferedQoS
		}
	}
}

// addLateOffers takes the offers of a file's copy of the metadata.
func (m *member) addLateOffers(newest storage.Info) bool {
	if len(newest.Metadata) == 0 {
		return false
	}
	copied, err := DecodeMetadata(m.path, newest.Metadata)
	return err == nil && m.metadata.addOffers(copied.Topics)
}
