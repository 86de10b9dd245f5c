package bag

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"rosbagd/storage"
	"rosbagd/storage/qos"
)

// infoJSON is the document of WriteJSON; docs/json.md describes it. Keys of metadata.yaml keep their names and units.
type infoJSON struct {
	Bag      metadataJSON         `json:"rosbag2_bagfile_information"`
	Size     int64                `json:"bag_size"`
	Messages uint64               `json:"plain_message_count"`
	Services []serviceJSON        `json:"services"`
	Actions  []actionJSON         `json:"actions"`
	Losses   map[string]*lossJSON `json:"losses"`
	Usage    []usageJSON          `json:"topic_statistics,omitempty"`
	Notes    []string             `json:"notes"`
}

type nanosJSON struct {
	Nanos int64 `json:"nanoseconds"`
}

type epochJSON struct {
	Nanos int64 `json:"nanoseconds_since_epoch"`
}

type metadataJSON struct {
	Version  int               `json:"version"`
	Storage  string            `json:"storage_identifier"`
	Duration nanosJSON         `json:"duration"`
	Start    epochJSON         `json:"starting_time"`
	Messages uint64            `json:"message_count"`
	Topics   []topicJSON       `json:"topics_with_message_count"`
	Format   string            `json:"compression_format"`
	Mode     string            `json:"compression_mode"`
	Paths    []string          `json:"relative_file_paths"`
	Files    []fileJSON        `json:"files"`
	Custom   map[string]string `json:"custom_data"`
	Distro   string            `json:"ros_distro"`
}

type topicJSON struct {
	Topic struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Format  string `json:"serialization_format"`
		Offered any    `json:"offered_qos_profiles"`
		Hash    string `json:"type_description_hash"`
	} `json:"topic_metadata"`
	Messages uint64 `json:"message_count"`
}

type fileJSON struct {
	Path     string    `json:"path"`
	Start    epochJSON `json:"starting_time"`
	Duration nanosJSON `json:"duration"`
	Messages uint64    `json:"message_count"`
}

type callsJSON struct {
	Events    uint64  `json:"event_count"`
	Requests  *uint64 `json:"request_count,omitempty"`
	Responses *uint64 `json:"response_count,omitempty"`
}

type serviceJSON struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Format string `json:"serialization_format"`
	callsJSON
}

type actionJSON struct {
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Format     string    `json:"serialization_format"`
	Feedback   uint64    `json:"feedback_count"`
	Status     uint64    `json:"status_count"`
	SendGoal   callsJSON `json:"send_goal"`
	CancelGoal callsJSON `json:"cancel_goal"`
	GetResult  callsJSON `json:"get_result"`
}

// lossJSON has null for what is not known.
type lossJSON struct {
	Dropped    uint64  `json:"dropped"`
	Overflowed *uint64 `json:"overflowed"`
	Lost       *uint64 `json:"lost"`
}

// usageJSON has null for what needs two messages.
type usageJSON struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Messages   uint64     `json:"message_count"`
	Bytes      uint64     `json:"size_contribution"`
	Frequency  *float64   `json:"frequency"`
	LargestGap *nanosJSON `json:"largest_gap"`
}

// WriteJSON writes an Info as one JSON document, with notes about what is unfinished or damaged.
func (info *Info) WriteJSON(out io.Writer, notes []string) error {
	bag, err := newMetadataJSON(info.Metadata)
	if err != nil {
		return err
	}
	document := infoJSON{
		Bag: bag, Size: info.Size, Messages: info.Messages(), Services: []serviceJSON{}, Actions: []actionJSON{},
		Notes: append([]string{}, notes...),
	}
	for _, service := range info.Services {
		document.Services = append(document.Services, serviceJSON{
			Name: service.Name, Type: service.Type, Format: service.SerializationFormat, callsJSON: info.callsJSON(service),
		})
	}
	for _, action := range info.Actions {
		document.Actions = append(document.Actions, actionJSON{
			Name: action.Name, Type: action.Type, Format: action.SerializationFormat,
			Feedback: action.Feedback.Count, Status: action.Status.Count, SendGoal: info.callsJSON(action.SendGoal),
			CancelGoal: info.callsJSON(action.CancelGoal), GetResult: info.callsJSON(action.GetResult),
		})
	}
	if info.Losses != nil {
		document.Losses = map[string]*lossJSON{}
		for _, loss := range info.Losses {
			document.Losses[loss.Topic] = &lossJSON{
				Dropped: loss.Dropped, Overflowed: unless(loss.OverflowedUnknown, loss.Overflowed), Lost: unless(loss.LostUnknown, loss.Lost),
			}
		}
	}
	if info.Measured {
		document.Usage = info.usageJSON()
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(document)
	if err == nil {
		_, err = out.Write(storage.PrintableJSON(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write info: %w", err)
	}
	return nil
}

func unless[T any](unknown bool, value T) *T {
	if unknown {
		return nil
	}
	return &value
}

func (info *Info) callsJSON(service InfoService) callsJSON {
	return callsJSON{
		Events: service.Count, Requests: unless(!info.Measured, service.Usage.Requests),
		Responses: unless(!info.Measured, service.Usage.Responses),
	}
}

// usageJSON has all topics, those of services and actions too, by name.
func (info *Info) usageJSON() []usageJSON {
	usages := []usageJSON{}
	add := func(name, typ string, u Usage) {
		if name == "" {
			return
		}
		frequency, ok := u.Frequency()
		usages = append(usages, usageJSON{
			Name: name, Type: typ, Messages: u.Messages, Bytes: u.Bytes, Frequency: unless(!ok, frequency),
			LargestGap: unless(u.Messages < 2, nanosJSON{int64(u.LargestGap)}),
		})
	}
	service := func(s InfoService) { add(s.Topic, s.Type+"_Event", s.Usage) }
	for _, topic := range info.Topics {
		add(topic.Name, topic.Type, topic.Usage)
	}
	for _, s := range info.Services {
		service(s)
	}
	for _, action := range info.Actions {
		add(action.Feedback.Name, action.Feedback.Type, action.Feedback.Usage)
		add(action.Status.Name, action.Status.Type, action.Status.Usage)
		service(action.SendGoal)
		service(action.CancelGoal)
		service(action.GetResult)
	}
	slices.SortStableFunc(usages, func(a, b usageJSON) int { return cmp.Compare(a.Name, b.Name) })
	return usages
}

func newMetadataJSON(m Metadata) (metadataJSON, error) {
	out := metadataJSON{
		Version: m.Version, Storage: m.StorageID, Duration: nanosJSON{int64(m.Duration)},
		Start: epochOf(m.StartNanos, m.MessageCount), Messages: m.MessageCount, Topics: []topicJSON{},
		Format: m.CompressionFormat, Mode: m.CompressionMode, Paths: append([]string{}, m.Paths...), Files: []fileJSON{},
		Custom: m.CustomData, Distro: m.ROSDistro,
	}
	for _, t := range m.Topics {
		topic, err := newTopicJSON(t)
		if err != nil {
			return metadataJSON{}, err
		}
		out.Topics = append(out.Topics, topic)
	}
	for _, f := range m.Files {
		out.Files = append(out.Files, fileJSON{
			Path: f.Path, Start: epochOf(f.StartNanos, f.MessageCount), Duration: nanosJSON{int64(f.Duration)}, Messages: f.MessageCount,
		})
	}
	return out, nil
}

func newTopicJSON(t storage.TopicInfo) (topicJSON, error) {
	out := topicJSON{Messages: t.MessageCount}
	out.Topic.Name, out.Topic.Type, out.Topic.Format, out.Topic.Hash = t.Name, t.Type, t.SerializationFormat, t.TypeHash
	offered := []map[string]any{}
	if err := qos.Encode(t.OfferedQoS, MetadataVersion).Decode(&offered); err != nil {
		return topicJSON{}, fmt.Errorf("write info: topic %s: %w", t.Name, err)
	}
	out.Topic.Offered = offered
	return out, nil
}

// epochOf has rosbag2's mark for the start of what has no message.
func epochOf(start int64, messages uint64) epochJSON {
	if messages == 0 {
		start = math.MaxInt64
	}
	return epochJSON{start}
}
