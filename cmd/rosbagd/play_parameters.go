package main

import (
	"math"
	"time"

	"rosbagd/node/param"
	"rosbagd/player"
)

// settings are the parameters of a player, by rosbag2's names.
func (c *playCall) settings() settings {
	order, orders := worded(&c.order, map[string]string{"received": "RECEIVED_TIMESTAMP", "sent": "SENT_TIMESTAMP"})
	clockFlags := []string{"clock-topics", "clock-topics-all"}
	return settings{
		one[string]{
			name: "storage.uri", at: at(&c.bag), settled: c.bag != "",
			descriptor: param.Descriptor{Description: "path of the bag"},
		},
		one[string]{
			name: "storage.storage_id", flags: []string{"storage"}, at: at(&c.storageID),
			descriptor: param.Descriptor{Description: "storage of the bag; empty is found by its content"},
		},
		one[float64]{
			name: "play.rate", flags: []string{"rate"}, at: at(&c.rate), live: true,
			descriptor: param.Descriptor{
				Description: "speed, a ratio to real time", DoubleRange: &param.DoubleRange{From: minRate, To: math.MaxFloat64},
			},
		},
		one[float64]{
			name: "play.clock_publish_frequency", flags: []string{"clock"}, at: at(&c.clockHz), live: true,
			descriptor: param.Descriptor{
				Description: "frequency of /clock in Hz, 0 for none", DoubleRange: &param.DoubleRange{From: 0, To: maxClockHz},
			},
		},
		one[bool]{
			name: "play.clock_publish_on_topic_publish", flags: clockFlags, at: at(&c.clockOnTopics),
			descriptor: param.Descriptor{Description: "publish /clock just before messages"},
		},
		one[[]string]{
			name: "play.clock_trigger_topics", flags: clockFlags, at: at(&c.clockTopics),
			descriptor: param.Descriptor{Description: "the topics of these messages; none is all topics"},
		},
		one[bool]{
			name: "play.start_paused", flags: []string{"start-paused"}, at: at(&c.startPaused),
			descriptor: param.Descriptor{Description: "begin paused"},
		},
		one[bool]{
			name: "play.loop", flags: []string{"loop"}, at: at(&c.loop),
			descriptor: param.Descriptor{Description: "begin again at the end"},
		},
		one[[]string]{
			name: "play.topics_to_filter", flags: []string{"topics"}, at: at(&c.topics),
			descriptor: param.Descriptor{Description: "play these topics only; none is no choice"},
		},
		one[[]string]{
			name: "play.exclude_topics_to_filter", flags: []string{"exclude-topics"}, at: at(&c.excludeTopics),
			descriptor: param.Descriptor{Description: "do not play these topics"},
		},
		one[string]{
			name: "play.regex_to_filter", flags: []string{"regex"}, at: at(&c.regex),
			check:      func(expression string) error { return player.Filter{Regex: expression}.Check() },
			descriptor: param.Descriptor{Description: "play the topics whose whole name matches this ECMAScript expression"},
		},
		one[string]{
			name: "play.exclude_regex_to_filter", flags: []string{"exclude-regex"}, at: at(&c.excludeRegex),
			check:      func(expression string) error { return player.Filter{ExcludeRegex: expression}.Check() },
			descriptor: param.Descriptor{Description: "do not play the topics whose whole name matches this expression"},
		},
		duration{
			name: "play.start_offset", flags: []string{"start-offset"}, at: seconds(&c.startOffset),
			description: "from the start of the bag to where playing begins",
		},
		duration{
			name: "play.delay", flags: []string{"delay"}, at: seconds(&c.delay),
			description: "wait before playing",
		},
		duration{
			name: "play.playback_duration", flags: []string{"playback-duration"}, at: seconds(&c.duration),
			description: "bag time to play, negative is no limit",
		},
		duration{
			name: "play.playback_until_timestamp", flags: []string{"playback-until-sec", "playback-until-nsec"}, at: c.until(),
			description: "last time to play since the epoch, negative is no limit",
		},
		one[string]{
			name: "play.qos_profile_overrides_path", flags: []string{"qos-profile-overrides-path"}, at: at(&c.overridesPath),
			descriptor: param.Descriptor{Description: "YAML file with QoS profiles of publishers, by topic"},
		},
		one[string]{
			name: "play.message_order", flags: []string{"message-order"}, at: order,
			descriptor: param.Descriptor{Description: "play by the time messages were received or sent", Words: orders},
		},
		one[bool]{
			name: "play.disable_keyboard_controls", flags: []string{"disable-keyboard-controls"}, at: at(&c.noKeyboard),
			descriptor: param.Descriptor{Description: "do not obey keys"},
		},
	}
}

// minRate is the lowest rate that rosbag2 takes as a parameter.
const minRate = 1e-6

// until keeps the end of playing, which two flags can give, in the finer one of them.
func (c *playCall) until() field[time.Duration] {
	return field[time.Duration]{
		get: func() time.Duration {
			if c.untilSec >= 0 {
				return fromSeconds(c.untilSec)
			}
			return time.Duration(c.untilNsec)
		},
		set: func(d time.Duration) { c.untilNsec = int64(d) },
	}
}
