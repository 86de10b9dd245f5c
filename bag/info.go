package bag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"rosbagd/storage"
)

// Sort is the order of topics and services in the text of WriteInfo.
type Sort string

// The orders; the empty one is SortName.
const (
	SortName  Sort = "name"
	SortType  Sort = "type"
	SortCount Sort = "count"
)

// InfoOptions are the settings of WriteInfo.
type InfoOptions struct {
	// Verbose reads the whole bag: request and response counts of services, and how much each topic contributes.
	Verbose bool
	// TopicNames writes the topic names alone, one a line. Verbose wins over it.
	TopicNames bool
	Sort       Sort
	Location   *time.Location // of the start and end shown; nil is local time
}

const infoIndent = "                   " // 19 wide

// infoText is what WriteInfo shows, with service events told apart from other topics.
type infoText struct {
	metadata Metadata
	topics   []infoRow
	services []infoRow
}

type infoRow struct {
	name, typ, format   string
	count               uint64
	bytes               uint64
	requests, responses int
}

// WriteInfo writes the description of a bag as "ros2 bag info" prints it. What is unfinished or damaged is not part of
// it; see Reader.Notes.
func WriteInfo(out io.Writer, r *Reader, options InfoOptions) error {
	text := infoText{metadata: r.Metadata()}
	var sizes []usage
	if options.Verbose {
		var err error
		if sizes, err = r.measure(); err != nil {
			return fmt.Errorf("read bag: %w", err)
		}
	}
	for i, topic := range r.Topics() {
		row := infoRow{
			name: storage.Printable(topic.Name), typ: storage.Printable(topic.Type), format: storage.Printable(topic.SerializationFormat),
			count: topic.MessageCount,
		}
		if i < len(sizes) {
			row.bytes, row.requests, row.responses = sizes[i].bytes, len(sizes[i].requests), len(sizes[i].responses)
		}
		if service, typ, ok := serviceOf(topic.Topic); ok {
			row.name, row.typ = storage.Printable(service), storage.Printable(typ)
			text.services = append(text.services, row)
		} else {
			text.topics = append(text.topics, row)
		}
	}
	sortRows(text.topics, options.Sort)
	sortRows(text.services, options.Sort)

	var b strings.Builder
	if options.TopicNames && !options.Verbose {
		for _, row := range text.topics {
			b.WriteString(row.name + "\n")
		}
	} else {
		text.write(&b, r, options)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write info: %w", err)
	}
	return nil
}

func (t *infoText) write(b *strings.Builder, r *Reader, options InfoOptions) {
	m := t.metadata
	// rosbag2 shows an empty bag with the largest time there is.
	start := m.StartNanos
	if m.MessageCount == 0 {
		start = math.MaxInt64
	}
	messages := m.MessageCount
	for _, service := range t.services {
		messages -= min(messages, service.count)
	}
	field := func(label, value string) { fmt.Fprintf(b, "%-19s%s\n", label, value) }
	b.WriteString("\n")
	field("Files:", strings.Join(m.Paths, "\n"+infoIndent))
	field("Bag size:", FormatSize(r.Size()))
	field("Storage id:", m.StorageID)
	field("ROS Distro:", cmp.Or(m.ROSDistro, "unknown"))
	field("Duration:", fmt.Sprintf("%d.%09ds", m.Duration/time.Second, m.Duration%time.Second))
	field("Start:", formatTime(start, options.Location))
	field("End:", formatTime(start+min(int64(m.Duration), math.MaxInt64-start), options.Location))
	field("Messages:", fmt.Sprint(messages))
	rows := make([]string, 0, len(t.topics))
	for _, row := range t.topics {
		rows = append(rows, fmt.Sprintf("Topic: %s | Type: %s | Count: %d%s | Serialization Format: %s",
			row.name, row.typ, row.count, row.contribution(options), row.format))
	}
	field("Topic information:", strings.Join(rows, "\n"+infoIndent))
	field("Service:", fmt.Sprint(len(t.services)))
	rows = rows[:0]
	for _, row := range t.services {
		count := fmt.Sprintf("Event Count: %d", row.count)
		if options.Verbose {
			count = fmt.Sprintf("Request Count: %d | Response Count: %d", row.requests, row.responses)
		}
		rows = append(rows, fmt.Sprintf("Service: %s | Type: %s | %s%s | Serialization Format: %s",
			row.name, row.typ, count, row.contribution(options), row.format))
	}
	fmt.Fprintf(b, "Service information: %s\n", strings.Join(rows, "\n"+infoIndent))
}

func (row infoRow) contribution(options InfoOptions) string {
	if !options.Verbose {
		return ""
	}
	return " | Size Contribution: " + FormatSize(int64(row.bytes))
}

func sortRows(rows []infoRow, by Sort) {
	slices.SortStableFunc(rows, func(a, b infoRow) int {
		switch by {
		case SortType:
			return cmp.Or(cmp.Compare(a.typ, b.typ), cmp.Compare(a.name, b.name))
		case SortCount:
			return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.name, b.name))
		default:
			return cmp.Compare(a.name, b.name)
		}
	})
}

// FormatSize writes a size in the units of "info".
func FormatSize(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value := float64(bytes)
	unit := ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		value /= 1024
		if value < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

func formatTime(nanos int64, location *time.Location) string {
	if location == nil {
		location = time.Local
	}
	t := time.Unix(0, nanos).In(location)
	return fmt.Sprintf("%s (%d.%09d)", t.Format("Jan _2 2006 15:04:05.000000000"),
		nanos/int64(time.Second), nanos%int64(time.Second))
}

// serviceOf takes a topic of service events for what it is: the service's name and type.
func serviceOf(topic storage.Topic) (name, typ string, ok bool) {
	name, isEvent := strings.CutSuffix(topic.Name, "/_service_event")
	typ, isType := strings.CutSuffix(topic.Type, "_Event")
	return name, typ, isEvent && isType && strings.Contains(topic.Type, "/srv/")
}

// usage is what the messages of a topic tell when all of them are read.
type usage struct {
	bytes               uint64
	requests, responses map[eventKey]struct{}
}

// measure reads the whole bag. Damaged parts are noted and left out.
func (r *Reader) measure() ([]usage, error) {
	it, err := r.Messages(Query{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var sizes []usage
	for {
		m, err := it.Next()
		var corruption *storage.CorruptionError
		switch {
		case errors.Is(err, io.EOF):
			return sizes, nil
		case errors.As(err, &corruption):
			r.addNote("%v", err)
			continue
		case err != nil:
			return nil, err
		}
		for len(sizes) <= int(m.Topic) {
			sizes = append(sizes, usage{requests: map[eventKey]struct{}{}, responses: map[eventKey]struct{}{}})
		}
		u := &sizes[m.Topic]
		u.bytes += uint64(len(m.Data))
		if _, _, ok := serviceOf(r.topic(m.Topic)); ok {
			u.countEvent(m.Data)
		}
	}
}

func (r *Reader) topic(id storage.TopicID) storage.Topic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.topics[id].Topic
}
