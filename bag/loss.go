package bag

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lossPrefix begins the keys of the custom data that tell the losses of a topic.
const lossPrefix = "rosbagd.lost."

// Loss is how many messages of a topic are missing in a bag, as its recorder counted them.
type Loss struct {
	Topic      string
	Dropped    uint64 // received, but not written
	Overflowed uint64 // arrived, but left the history of the subscription before they were taken
	Lost       uint64 // sent, but never arrived
	// The middleware did not tell: Overflowed or Lost says nothing.
	OverflowedUnknown, LostUnknown bool
}

// Any says whether something is known to be missing.
func (l Loss) Any() bool { return l.Dropped > 0 || l.Overflowed > 0 || l.Lost > 0 }

// Custom is the key and the text of the loss in the custom data of a bag.
func (l Loss) Custom() (key, text string) {
	count := func(n uint64, unknown bool) string {
		if unknown {
			return "unknown"
		}
		return strconv.FormatUint(n, 10)
	}
	return lossPrefix + l.Topic, fmt.Sprintf("dropped=%d overflowed=%s lost=%s", l.Dropped,
		count(l.Overflowed, l.OverflowedUnknown), count(l.Lost, l.LostUnknown))
}

// lossesOf reads the losses out of custom data, by topic; nil when there is none. What is not understood is left out.
func lossesOf(custom map[string]string) []Loss {
	var losses []Loss
	for _, key := range slices.Sorted(maps.Keys(custom)) {
		topic, ok := strings.CutPrefix(key, lossPrefix)
		if !ok {
			continue
		}
		if loss, ok := parseLoss(custom[key]); ok {
			loss.Topic = topic
			losses = append(losses, loss)
		}
	}
	return losses
}

func parseLoss(text string) (Loss, bool) {
	var loss Loss
	places := map[string]struct {
		count   *uint64
		unknown *bool
	}{
		"dropped": {&loss.Dropped, nil}, "overflowed": {&loss.Overflowed, &loss.OverflowedUnknown}, "lost": {&loss.Lost, &loss.LostUnknown},
	}
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		place, ok := places[name]
		if !ok {
			continue
		}
		delete(places, name)
		if value == "unknown" && place.unknown != nil {
			*place.unknown = true
			continue
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return Loss{}, false
		}
		*place.count = n
	}
	return loss, len(places) == 0
}
