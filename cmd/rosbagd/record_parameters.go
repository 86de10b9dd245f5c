package main

import (
	"math"

	"rosbagd/node/param"
	"rosbagd/recorder"
)

// settings are the parameters of a recorder, by rosbag2's names.
func (c *recordCall) settings() settings {
	return settings{
		one[bool]{
			name: simTime, flags: []string{"use-sim-time"}, at: at(&c.useSimTime),
			descriptor: param.Descriptor{Description: "stamp what is received with the time of /clock, and begin when it tells one"},
		},
		one[string]{
			name: "storage.uri", flags: []string{"output"}, at: at(&c.output),
			descriptor: param.Descriptor{Description: "directory of the bag that begins at the start; it must not exist"},
		},
		one[string]{
			name: "storage.storage_id", flags: []string{"storage"}, at: at(&c.storageID),
			descriptor: param.Descriptor{Description: "storage of the bags"},
		},
		one[string]{
			name: "storage.storage_preset_profile", flags: []string{"storage-preset-profile"}, at: at(&c.preset),
			descriptor: param.Descriptor{Description: "settings of the storage", Constraints: "a word of that storage"},
		},
		one[int64]{
			name: "storage.max_cache_size", flags: []string{"max-cache-size"}, at: at(&c.maxCacheSize),
			descriptor: param.Descriptor{
				Description:  "bytes that wait in memory to be written, at most",
				IntegerRange: &param.IntegerRange{From: 0, To: math.MaxInt64},
			},
		},
		one[[]string]{
			name: "storage.custom_data", flags: []string{"custom-data"}, at: at(&c.customData),
			descriptor: param.Descriptor{Description: "goes into metadata.yaml", Constraints: "each KEY=VALUE"},
		},
		one[bool]{
			name: "record.all_topics", flags: []string{"all", "all-topics"}, at: at(&c.allTopics),
			descriptor: param.Descriptor{Description: "record all topics"},
		},
		one[bool]{
			name: "record.all_services", flags: []string{"all", "all-services"}, at: at(&c.allServices),
			descriptor: param.Descriptor{Description: "record the events of all services"},
		},
		one[bool]{
			name: "record.all_actions", flags: []string{"all", "all-actions"}, at: at(&c.allActions),
			descriptor: param.Descriptor{Description: "record all actions"},
		},
		one[[]string]{
			name: "record.topics", flags: []string{"topics"}, at: at(&c.topics), settled: len(c.topics) > 0, check: validTopics,
			descriptor: param.Descriptor{Description: "topics to record"},
		},
		one[bool]{
			name: "record.include_hidden_topics", flags: []string{"include-hidden-topics"}, at: at(&c.includeHidden),
			descriptor: param.Descriptor{Description: "record topics with a name part that begins with '_' too"},
		},
		one[bool]{
			name: "record.is_discovery_disabled", flags: []string{"no-discovery"}, at: at(&c.noDiscovery),
			descriptor: param.Descriptor{Description: "record only the topics that are there when a bag begins"},
		},
		duration{
			name: "record.topic_polling_interval", flags: []string{"polling-interval"}, at: at(&c.polling),
			description: "longest time between looks at the graph",
		},
		one[string]{
			name: "record.qos_profile_overrides_path", flags: []string{"qos-profile-overrides-path"}, at: at(&c.overridesPath),
			descriptor: param.Descriptor{Description: "YAML file with QoS profiles of subscriptions, by topic"},
		},
		one[string]{
			name: "record.rmw_serialization_format", at: at(&c.format),
			descriptor: param.Descriptor{Description: "format of the messages in the bag", Words: []string{"cdr"}},
		},
		one[bool]{
			name: "record.start_paused", flags: []string{"start-paused"}, at: at(&c.startPaused),
			descriptor: param.Descriptor{Description: "begin paused"},
		},
	}
}

func validTopics(names []string) error {
	for _, name := range names {
		if err := recorder.ValidateTopicName(name); err != nil {
			return err
		}
	}
	return nil
}
