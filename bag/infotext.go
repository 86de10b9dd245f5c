package bag

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"rosbagd/storage"
)

// InfoText says how WriteText writes an Info.
type InfoText struct {
	// TopicNames writes the names of the topics alone, one a line. It has no effect on an Info that is measured.
	TopicNames bool
	Location   *time.Location // of the start and end shown; nil is local time
}

// The labels of rosbag2 are not all equally wide, and rows below the first stand below it, or not quite.
const (
	infoIndent    = "                   " // 19 wide
	serviceIndent = infoIndent + "  "
)

// WriteText writes an Info as "ros2 bag info" prints it, in the layout of Jazzy, and of Kilted for the actions of bags
// that have any. What is beyond rosbag2 stands at the end of rows, or below all of it.
func (info *Info) WriteText(out io.Writer, options InfoText) error {
	var b strings.Builder
	if options.TopicNames && !info.Measured {
		for _, topic := range info.Topics {
			b.WriteString(storage.Printable(topic.Name) + "\n")
		}
	} else {
		info.write(&b, options.Location)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write info: %w", err)
	}
	return nil
}

func (info *Info) write(b *strings.Builder, location *time.Location) {
	m := info.Metadata
	// rosbag2 shows an empty bag with the largest time there is.
	start := m.StartNanos
	if m.MessageCount == 0 {
		start = math.MaxInt64
	}
	paths := make([]string, 0, len(m.Paths))
	for _, path := range m.Paths {
		paths = append(paths, storage.Printable(path))
	}
	field := func(label, value string) { fmt.Fprintf(b, "%-19s%s\n", label, value) }
	b.WriteString("\n")
	field("Files:", strings.Join(paths, "\n"+infoIndent))
	field("Bag size:", FormatSize(info.Size))
	field("Storage id:", storage.Printable(m.StorageID))
	field("ROS Distro:", storage.Printable(cmp.Or(m.ROSDistro, "unknown")))
	field("Duration:", formatDuration(m.Duration))
	field("Start:", formatTime(start, location))
	field("End:", formatTime(start+min(int64(m.Duration), math.MaxInt64-start), location))
	field("Messages:", fmt.Sprint(info.Messages()))
	rows := make([]string, 0, len(info.Topics))
	for _, topic := range info.Topics {
		rows = append(rows, info.row("Topic", topic, fmt.Sprintf("Count: %d", topic.Count)))
	}
	field("Topic information:", strings.Join(rows, "\n"+infoIndent))
	field("Service:", fmt.Sprint(len(info.Services)))
	rows = rows[:0]
	for _, service := range info.Services {
		rows = append(rows, info.row("Service", service.InfoTopic, info.calls(service)))
	}
	fmt.Fprintf(b, "Service information: %s\n", strings.Join(rows, "\n"+serviceIndent))
	if len(info.Actions) > 0 {
		info.writeActions(b)
	}
	if info.Measured && info.Losses != nil {
		field("Losses:", strings.Join(lossRows(info.Losses), "\n"+infoIndent))
	}
}

// row is the line of a topic or a service.
func (info *Info) row(label string, topic InfoTopic, count string) string {
	row := fmt.Sprintf("%s: %s | Type: %s | %s", label, storage.Printable(topic.Name), storage.Printable(topic.Type), count)
	if info.Measured {
		row += " | Size Contribution: " + FormatSize(int64(min(topic.Usage.Bytes, math.MaxInt64)))
	}
	row += " | Serialization Format: " + storage.Printable(topic.SerializationFormat)
	if frequency, ok := topic.Usage.Frequency(); ok {
		row += fmt.Sprintf(" | Frequency: %.3f Hz | Largest Gap: %s", frequency, formatDuration(topic.Usage.LargestGap))
	}
	return row
}

func (info *Info) calls(service InfoService) string {
	if info.Measured {
		return fmt.Sprintf("Request Count: %d | Response Count: %d", service.Usage.Requests, service.Usage.Responses)
	}
	return fmt.Sprintf("Event Count: %d", service.Count)
}

func (info *Info) writeActions(b *strings.Builder) {
	fmt.Fprintf(b, "%-19s%d\n", "Actions:", len(info.Actions))
	b.WriteString("Action information: ")
	for i, action := range info.Actions {
		if i > 0 {
			b.WriteString(serviceIndent)
		}
		fmt.Fprintf(b, "Action: %s | Type: %s | Topics: 2 | Service: 3", storage.Printable(action.Name),
			storage.Printable(cmp.Or(action.Type, "unknown")))
		if info.Measured {
			bytes := action.Feedback.Usage.Bytes + action.Status.Usage.Bytes + action.SendGoal.Usage.Bytes +
				action.CancelGoal.Usage.Bytes + action.GetResult.Usage.Bytes
			b.WriteString(" | Size Contribution: " + FormatSize(int64(min(bytes, math.MaxInt64))))
		}
		fmt.Fprintf(b, " | Serialization Format: %s\n", storage.Printable(action.SerializationFormat))
		indent := serviceIndent + "  "
		fmt.Fprintf(b, "%sTopic: feedback | Count: %d\n%sTopic: status | Count: %d\n", indent, action.Feedback.Count, indent, action.Status.Count)
		fmt.Fprintf(b, "%sService: send_goal | %s\n", indent, info.calls(action.SendGoal))
		fmt.Fprintf(b, "%sService: cancel_goal | %s\n", indent, info.calls(action.CancelGoal))
		fmt.Fprintf(b, "%sService: get_result | %s\n", indent, info.calls(action.GetResult))
	}
}

// lossRows leaves out topics that are complete.
func lossRows(losses []Loss) []string {
	var rows []string
	count := func(n uint64, unknown bool) string {
		if unknown {
			return "unknown"
		}
		return fmt.Sprint(n)
	}
	unknown := 0
	for _, loss := range losses {
		switch {
		case loss.Any():
			rows = append(rows, fmt.Sprintf("Topic: %s | Not Written: %d | Not Taken In Time: %s | Lost In Transport: %s",
				storage.Printable(loss.Topic), loss.Dropped, count(loss.Overflowed, loss.OverflowedUnknown), count(loss.Lost, loss.LostUnknown)))
		case loss.OverflowedUnknown || loss.LostUnknown:
			unknown++
		}
	}
	if unknown > 0 {
		rows = append(rows, fmt.Sprintf("not known of %d topics: the middleware numbered no messages", unknown))
	}
	if len(rows) == 0 {
		rows = []string{"none"}
	}
	return rows
}

func formatDuration(d time.Duration) string {
	return fmt.Sprintf("%d.%09ds", d/time.Second, d%time.Second)
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
