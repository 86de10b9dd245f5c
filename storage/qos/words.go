package qos

import "strconv"

// The words of a policy stand at the position of its number in rmw. Metadata version 9 and override files use the
// words, versions 4 to 8 the numbers.

func historyWords() []string { return []string{"system_default", "keep_last", "keep_all", "unknown"} }

func reliabilityWords() []string {
	return []string{"system_default", "reliable", "best_effort", "unknown", "best_available"}
}

func durabilityWords() []string {
	return []string{"system_default", "transient_local", "volatile", "unknown", "best_available"}
}

func livelinessWords() []string {
	return []string{"system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown", "best_available"}
}

func (h History) String() string     { return word(historyWords(), uint8(h)) }
func (r Reliability) String() string { return word(reliabilityWords(), uint8(r)) }
func (d Durability) String() string  { return word(durabilityWords(), uint8(d)) }
func (l Liveliness) String() string  { return word(livelinessWords(), uint8(l)) }

func word(words []string, value uint8) string {
	if int(value) < len(words) {
		return words[value]
	}
	return "unknown"
}

// lookup finds the value of a word.
func lookup(words []string, text string) (uint8, bool) {
	for i, w := range words {
		if w == text {
			return uint8(i), true
		}
	}
	return 0, false
}

// lenient reads a policy from metadata: a word, or a number as a number or as text. What nobody knows becomes
// "unknown", as in rosbag2: a bag stays readable when a newer program wrote it.
func lenient(words []string, text string) uint8 {
	unknown, _ := lookup(words, "unknown")
	if value, ok := lookup(words, text); ok {
		return value
	}
	if n, err := strconv.ParseUint(text, 10, 8); err == nil && int(n) < len(words) {
		return uint8(n)
	}
	return unknown
}
