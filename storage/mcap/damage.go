package mcap

import (
	"fmt"
	"slices"
	"strings"
)

// lost sums up what of a file could not be read.
type lost struct {
	unfinished bool
	expected   uint64 // messages of the whole file by its statistics; 0 when not known

	chunks     int // that are damaged
	chunkBytes int64
	parts      int // chunks of which only the beginning is good
	partBytes  int64
	holes      int // places where the records do not follow each other
	holeBytes  int64
	tail       int64 // bytes at the end

	strangers uint64   // messages of channels that nobody describes
	unknown   []uint16 // these channels
}

func (l *lost) hole(bytes int64) {
	l.holes++
	l.holeBytes += bytes
}

func (l *lost) chunk(bytes int64) {
	l.chunks++
	l.chunkBytes += bytes
}

// inside says that something is wrong before the end of the file.
func (l *lost) inside() bool { return l.chunks+l.parts+l.holes > 0 }

// sentence says in plain words what is missing; it is empty when nothing is.
func (l *lost) sentence(messages uint64) string {
	var words strings.Builder
	damaged := l.inside() || l.strangers > 0
	count := fmt.Sprintf("%d messages", messages)
	if l.expected > messages {
		count = fmt.Sprintf("%d of %d messages", messages, l.expected)
	}
	switch {
	case l.unfinished && damaged:
		fmt.Fprintf(&words, "unfinished and damaged, %s can be read", count)
	case l.unfinished:
		fmt.Fprintf(&words, "unfinished, %s can be read", count)
	case damaged || l.expected > messages:
		fmt.Fprintf(&words, "damaged, %s can be read", count)
	default:
		return ""
	}
	if l.chunks > 0 {
		fmt.Fprintf(&words, "; %s of %d bytes left out", plural(l.chunks, "damaged chunk"), l.chunkBytes)
	}
	if l.parts > 0 {
		fmt.Fprintf(&words, "; the last %d bytes in %s left out", l.partBytes, plural(l.parts, "damaged chunk"))
	}
	if l.holes > 0 {
		fmt.Fprintf(&words, "; %d bytes in %s passed over", l.holeBytes, plural(l.holes, "damaged place"))
	}
	if l.tail > 0 {
		fmt.Fprintf(&words, "; the last %d bytes are of no use", l.tail)
	}
	if l.strangers > 0 {
		slices.Sort(l.unknown)
		names := make([]string, 0, namedChannels)
		for _, channel := range l.unknown[:min(namedChannels, len(l.unknown))] {
			names = append(names, fmt.Sprint(channel))
		}
		if more := len(l.unknown) - namedChannels; more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		fmt.Fprintf(&words, "; %d messages left out because the description of their channel is lost (channel %s)",
			l.strangers, strings.Join(names, ", "))
	}
	return words.String()
}

// namedChannels is how many channels a sentence names.
const namedChannels = 8

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
