package bag

import (
	"fmt"
	"slices"

	"rosbagd/storage"
)

// Converter is a serialization format that bags can be converted to. Messages are moved undecoded, so a topic must be in
// it already.
type Converter struct {
	Format      string
	Description string // one line for `list`
}

// Name is the name that rosbag2 gives a converter.
func (c Converter) Name() string { return c.Format + "_converter" }

// Converters lists the converters, the default first.
func Converters() []Converter {
	return []Converter{{
		Format: "cdr", Description: "CDR, the serialization of every middleware of ROS 2; messages stay as they are",
	}}
}

// CheckConverter says whether the messages of a topic can become those of a format: those of another one can not. The
// text of its error begins as that of rosbag2, and it wraps storage.ErrUnsupported.
func CheckConverter(topic storage.Topic, format string) error {
	known := slices.ContainsFunc(Converters(), func(c Converter) bool { return c.Format == format })
	if topic.SerializationFormat == format || topic.SerializationFormat == "" && known {
		return nil
	}
	return fmt.Errorf("Could not find converter for format %s: topic %s has %s: %w", //nolint:staticcheck // the text is rosbag2's
		format, topic.Name, topic.SerializationFormat, storage.ErrUnsupported)
}
