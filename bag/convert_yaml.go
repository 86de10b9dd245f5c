package bag

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
)

// The sentences of rosbag2 about its options files.
var (
	errOutputKey  = errors.New("Output bag config YAML file must have top-level key 'output_bags'")                      //nolint:staticcheck // the text is rosbag2's
	errOutputList = errors.New("Top-level key 'output_bags' must contain a list of StorageOptions/RecordOptions dicts.") //nolint:revive,staticcheck // the text is rosbag2's
	errInputKey   = errors.New("Input bag config YAML file must have top-level key 'input_bags'")                        //nolint:staticcheck // the text follows rosbag2's
	errInputList  = errors.New("Top-level key 'input_bags' must contain a list of StorageOptions dicts.")                //nolint:revive,staticcheck // the text follows rosbag2's
	errSnapshot   = errors.New("snapshot_mode: a snapshot is taken while recording, it has no meaning where a bag is converted: remove it")
)

// maxOptions bounds what is read as a file of options.
const maxOptions = 1 << 20

// storageYAML are the keys of rosbag2's storage options that mean something here. Unknown keys are ignored, as there.
type storageYAML struct {
	URI         string            `yaml:"uri"`
	Storage     string            `yaml:"storage_id"`
	Preset      string            `yaml:"storage_preset_profile"`
	Config      string            `yaml:"storage_config_uri"`
	MaxSize     int64             `yaml:"max_bagfile_size"`
	MaxDuration int64             `yaml:"max_bagfile_duration"` // seconds
	MaxFiles    int64             `yaml:"max_bag_files"`
	Snapshot    bool              `yaml:"snapshot_mode"`
	Start       *int64            `yaml:"start_time_ns"`
	End         *int64            `yaml:"end_time_ns"`
	Custom      map[string]string `yaml:"custom_data"`
}

// recordYAML are the keys of rosbag2's record options that mean something here.
type recordYAML struct {
	All               bool     `yaml:"all"`
	AllTopics         bool     `yaml:"all_topics"`
	AllServices       bool     `yaml:"all_services"`
	AllActions        bool     `yaml:"all_actions"`
	Topics            []string `yaml:"topics"`
	TopicTypes        []string `yaml:"topic_types"`
	Services          []string `yaml:"services"`
	Actions           []string `yaml:"actions"`
	ExcludeTopics     []string `yaml:"exclude_topics"`
	ExcludeTopicTypes []string `yaml:"exclude_topic_types"`
	ExcludeServices   []string `yaml:"exclude_services"`
	ExcludeActions    []string `yaml:"exclude_actions"`
	Regex             string   `yaml:"regex"`
	ExcludeRegex      string   `yaml:"exclude_regex"`
	Exclude           string   `yaml:"exclude"` // Humble's name of exclude_regex
	IncludeHidden     bool     `yaml:"include_hidden_topics"`
	CompressionMode   string   `yaml:"compression_mode"`
	CompressionFormat string   `yaml:"compression_format"`
	CompressionThread uint32   `yaml:"compression_threads"`
	MiddlewareFormat  string   `yaml:"rmw_serialization_format"`
	OutputFormat      string   `yaml:"output_serialization_format"`
}

// ReadFile gives the content of a file that options name, like os.ReadFile.
type ReadFile func(path string) ([]byte, error)

// ParseOutputs reads rosbag2's output options (root key output_bags). Nothing is selected that it does not name; the
// expressions may match anywhere in a name. path is only named in errors.
func ParseOutputs(path string, data []byte, read ReadFile) ([]ConvertOutput, error) {
	items, err := optionList(path, data, "output_bags", errOutputKey, errOutputList)
	if err != nil {
		return nil, err
	}
	outputs := make([]ConvertOutput, 0, len(items))
	for i, item := range items {
		where := fmt.Sprintf("%s:%d: output_bags[%d]", path, item.Line, i)
		var s storageYAML
		var r recordYAML
		if err := errors.Join(item.Decode(&s), item.Decode(&r)); err != nil {
			return nil, fmt.Errorf("%s: %w", where, plainYAML(err))
		}
		output, err := outputOf(s, r, read)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		outputs = append(outputs, output)
	}
	return outputs, nil
}

// ParseInputs reads the input options of rosbag2 from Lyrical on (root key input_bags).
func ParseInputs(path string, data []byte, read ReadFile) ([]ConvertInput, error) {
	items, err := optionList(path, data, "input_bags", errInputKey, errInputList)
	if err != nil {
		return nil, err
	}
	inputs := make([]ConvertInput, 0, len(items))
	for i, item := range items {
		where := fmt.Sprintf("%s:%d: input_bags[%d]", path, item.Line, i)
		var s storageYAML
		if err := item.Decode(&s); err != nil {
			return nil, fmt.Errorf("%s: %w", where, plainYAML(err))
		}
		if s.URI == "" {
			return nil, fmt.Errorf("%s: %w", where, errNoURI)
		}
		config, err := readConfig(s.Config, read)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		inputs = append(inputs, ConvertInput{Path: s.URI, StorageID: s.Storage, Config: config, Times: s.times()})
	}
	return inputs, nil
}

var errNoURI = errors.New("uri is missing: it is the path of the bag")

// optionList finds the maps below the root key.
func optionList(path string, data []byte, key string, errKey, errList error) ([]*yaml.Node, error) {
	if len(data) > maxOptions {
		return nil, fmt.Errorf("%s: is %d bytes large, at most %d are read", path, len(data), maxOptions)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, plainYAML(err))
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: %w", path, errKey)
	}
	list, ok := child(document.Content[0], key)
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, errKey)
	}
	list = resolved(list)
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return nil, fmt.Errorf("%s:%d: %w", path, list.Line, errList)
	}
	items := make([]*yaml.Node, 0, len(list.Content))
	for _, item := range list.Content {
		if item = resolved(item); item.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s:%d: %w", path, item.Line, errList)
		}
		items = append(items, item)
	}
	return items, nil
}

func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// plainYAML leaves out which library complains.
func plainYAML(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(text, "yaml: "), "unmarshal errors: "))
}

func (s storageYAML) times() TimeRange {
	var t TimeRange
	if s.Start != nil && *s.Start > 0 {
		t.FromNanos = *s.Start
	}
	if s.End != nil && *s.End >= 0 {
		t.UntilNanos, t.HasUntil = *s.End, true
	}
	return t
}

func outputOf(s storageYAML, r recordYAML, read ReadFile) (ConvertOutput, error) {
	var o ConvertOutput
	switch {
	case s.URI == "":
		return o, errNoURI
	case s.Snapshot:
		return o, errSnapshot
	case s.MaxDuration < 0 || s.MaxDuration > int64(maxDuration/time.Second):
		return o, fmt.Errorf("max_bagfile_duration %d: must be a number of seconds, 0 for no limit", s.MaxDuration)
	case s.MaxSize < 0:
		return o, fmt.Errorf("max_bagfile_size %d: must be a number of bytes, 0 for no limit", s.MaxSize)
	}
	config, err := readConfig(s.Config, read)
	if err != nil {
		return o, err
	}
	o = ConvertOutput{
		Path: s.URI, Times: s.times(), Format: r.OutputFormat,
		Writer: WriterOptions{
			StorageID: s.Storage, Preset: s.Preset, StorageConfig: config, MaxSize: s.MaxSize,
			MaxDuration: time.Duration(s.MaxDuration) * time.Second, CompressionMode: r.CompressionMode,
			CompressionFormat: r.CompressionFormat, CompressionThreads: int(r.CompressionThread), CustomData: s.Custom,
		},
	}
	if s.MaxFiles != 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("%s: max_bag_files %d is not obeyed, all files are kept", s.URI, s.MaxFiles))
	}
	if o.Format == "" {
		o.Format = r.MiddlewareFormat
	}
	o.Selection, err = r.selection()
	return o, err
}

const maxDuration = time.Duration(1<<63 - 1)

func (r recordYAML) selection() (Selection, error) {
	if r.ExcludeRegex == "" {
		r.ExcludeRegex = r.Exclude
	}
	s := Selection{
		AllTopics: r.All || r.AllTopics, AllServices: r.All || r.AllServices, AllActions: r.All || r.AllActions,
		Topics: r.Topics, TopicTypes: r.TopicTypes, Services: r.Services, Actions: r.Actions,
		ExcludeTopics: r.ExcludeTopics, ExcludeTopicTypes: r.ExcludeTopicTypes,
		ExcludeServices: r.ExcludeServices, ExcludeActions: r.ExcludeActions, IncludeHidden: r.IncludeHidden,
	}
	var err error
	if s.Regex, err = MatchWithin(r.Regex); err != nil {
		return s, fmt.Errorf("regex: %w", err)
	}
	if s.ExcludeRegex, err = MatchWithin(r.ExcludeRegex); err != nil {
		return s, fmt.Errorf("exclude_regex: %w", err)
	}
	return s, nil
}

func readConfig(path string, read ReadFile) (storage.Config, error) {
	if path == "" {
		return storage.Config{}, nil
	}
	data, err := read(path)
	if err != nil {
		return storage.Config{}, fmt.Errorf("storage_config_uri: %w", err)
	}
	return storage.Config{Path: path, Data: data}, nil
}
