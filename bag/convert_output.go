package bag

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rosbagd/storage"
	"rosbagd/storage/formats"
)

// output is a bag that is being written.
type output struct {
	*ConvertOutput
	// topics are what it gets, by the reader's topic id; nil for what it does not get.
	topics  []*storage.Topic
	ids     []storage.TopicID // by the reader's topic id: the writer's plus 1, 0 for what it does not get
	writer  *Writer
	sealed  bool
	partial string   // the directory in which the bag is made
	parents []string // directories that were made for it, the outermost first
	renamed bool
	copied  uint64
	tooBig  uint64 // messages that the storage refused
	refused error  // the first reason
}

// planOutput decides which topics an output gets and how it is written.
func (c *conversion) planOutput(o *ConvertOutput) (*output, error) {
	out := &output{ConvertOutput: o, topics: make([]*storage.Topic, len(c.topics))}
	c.report.Notes = append(c.report.Notes, o.Notes...)
	names := map[string]string{}
	used := map[string]bool{}
	count := 0
	for i, topic := range c.topics {
		v, err := o.Selection.judge(topic)
		if err != nil {
			return nil, err
		}
		if v == hidden {
			c.note("%s: hidden topic %s is left out, include_hidden_topics takes it", o.Path, topic.Name)
		}
		if v != taken {
			continue
		}
		if o.Format != "" {
			if err := CheckConverter(topic, o.Format); err != nil {
				return nil, err
			}
		}
		if name, ok := o.Rename[topic.Name]; ok {
			used[topic.Name] = true
			topic.Name = name
		}
		if other, ok := names[topic.Name]; ok && other != topic.Type {
			return nil, fmt.Errorf("topic %s: %w: %s and %s", topic.Name, storage.ErrTopicType, other, topic.Type)
		}
		names[topic.Name] = topic.Type
		out.topics[i] = &topic
		count++
	}
	for _, name := range slices.Sorted(maps.Keys(o.Rename)) {
		if !used[name] {
			c.note("%s: there is no topic %s to rename", o.Path, name)
		}
	}
	c.noteUnknown(o)
	switch {
	case o.Selection.Empty():
		c.note("%s: no topics are selected, the bag is empty; 'all_topics: true' and the like select", o.Path)
	case count == 0 && len(c.topics) > 0:
		c.note("%s: no topic of the inputs is selected, the bag is empty", o.Path)
	}
	out.completeWriter(c)
	out.completeTimes(c)
	_, format, err := o.Writer.complete(formats.Lookup)
	if err == nil && o.Writer.Preset != "" && !slices.Contains(format.Presets, o.Writer.Preset) {
		err = fmt.Errorf("unknown storage preset profile %q (known for %s: %s)", o.Writer.Preset, format.ID, strings.Join(format.Presets, ", "))
	}
	if err != nil {
		return nil, &SettingError{err}
	}
	return out, nil
}

// noteUnknown tells of topics that are named and that no input has: a typing error takes too little, or leaves too much.
func (c *conversion) noteUnknown(o *ConvertOutput) {
	has := func(name string) bool {
		return slices.ContainsFunc(c.topics, func(t storage.Topic) bool { return t.Name == name })
	}
	for _, named := range []struct {
		topics  []string
		purpose string
	}{{o.Selection.Topics, "take"}, {o.Selection.ExcludeTopics, "leave out"}} {
		for _, name := range named.topics {
			switch {
			case has(name):
			case has("/" + name):
				c.note("%s: there is no topic %s to %s, did you mean /%s?", o.Path, name, named.purpose, name)
			default:
				c.note("%s: there is no topic %s to %s", o.Path, name, named.purpose)
			}
		}
	}
}

// completeTimes turns what counts from the start of the inputs into times.
func (out *output) completeTimes(c *conversion) {
	t := &out.Times
	whole := c.reader.Metadata()
	if out.StartOffset > 0 {
		t.FromNanos = max(t.FromNanos, later(whole.StartNanos, out.StartOffset))
	}
	if out.Duration > 0 {
		*t = t.Intersect(TimeRange{HasUntil: true, UntilNanos: later(max(whole.StartNanos, t.FromNanos), out.Duration)})
	}
}

// noteEmpty says why a bag has topics and no message.
func (c *conversion) noteEmpty(out *output) {
	whole := c.reader.Metadata()
	if out.Times == (TimeRange{}) || whole.MessageCount == 0 {
		return // there was nothing for it
	}
	asked := "from " + formatTime(max(out.Times.FromNanos, 0), nil) + " on"
	if out.Times.HasUntil {
		asked = "from " + formatTime(max(out.Times.FromNanos, 0), nil) + " to " + formatTime(out.Times.UntilNanos, nil)
	}
	c.note("%s: no message is in the range of times, %s; those of the inputs go from %s to %s", out.Path, asked,
		formatTime(whole.StartNanos, nil), formatTime(later(whole.StartNanos, whole.Duration), nil))
}

// later does not overflow.
func later(nanos int64, d time.Duration) int64 {
	if nanos > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return nanos + int64(d)
}

// completeWriter takes over what the inputs have and the output does not say.
func (out *output) completeWriter(c *conversion) {
	from := c.reader.Metadata()
	custom := maps.Clone(from.CustomData)
	if custom == nil {
		custom = map[string]string{}
	}
	maps.Copy(custom, out.Writer.CustomData)
	out.Writer.CustomData = custom
	if out.Writer.ROSDistro == "" {
		out.Writer.ROSDistro = from.ROSDistro
	}
	// Nobody waits for what is being written before it is whole.
	out.Writer.FlushAge, out.Writer.SyncAge = math.MaxInt64, math.MaxInt64
	out.Writer.WaitForDisk = true
	out.Writer.Logger = c.options.Logger
}

// checkPaths refuses outputs that exist, that are twice the same, and that lie in an input.
func checkPaths(options ConvertOptions) error {
	seen := map[string]bool{}
	for _, o := range options.Outputs {
		if o.Path == "" {
			return fmt.Errorf("%w: its path is empty", ErrSameOutput)
		}
		path, err := realPath(o.Path)
		if err != nil {
			return err
		}
		for _, in := range options.Inputs {
			input, err := realPath(in.Path)
			if err != nil {
				return err
			}
			if path == input {
				return fmt.Errorf("%s: %w: it is an input", o.Path, ErrSameOutput)
			}
			if inside(path, input) {
				return fmt.Errorf("%s: %w: it lies in the input %s", o.Path, ErrSameOutput, in.Path)
			}
		}
		for other := range seen {
			if path == other || inside(path, other) || inside(other, path) {
				return fmt.Errorf("%s: %w: another output is or lies there", o.Path, ErrSameOutput)
			}
		}
		seen[path] = true
		if _, err := os.Lstat(o.Path); err == nil {
			return fmt.Errorf("create bag: %s: %w", o.Path, ErrExists)
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("create bag: %w", err)
		}
	}
	return nil
}

func inside(path, directory string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(directory, "/")+"/")
}

// realPath follows links as far as the path exists.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(found, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) || path == "/" {
			return "", fmt.Errorf("look at %s: %w", path, err)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// create makes the bag in a directory beside its place. The bag has its own name there, because its files are named
// after it.
func (out *output) create(c *conversion) error {
	path, err := filepath.Abs(out.Path)
	if err != nil {
		return err
	}
	if out.parents, err = makeParents(filepath.Dir(path)); err != nil {
		return fmt.Errorf("create bag: %w", err)
	}
	name := filepath.Base(path)
	if out.partial, err = os.MkdirTemp(filepath.Dir(path), "."+name[:min(len(name), 200)]+".partial-"); err != nil {
		return fmt.Errorf("create bag: %w", err)
	}
	if out.writer, err = Create(filepath.Join(out.partial, filepath.Base(path)), out.Writer); err != nil {
		return err
	}
	return out.addTopics(c)
}

// makeParents makes missing directories and lists them.
func makeParents(path string) (made []string, err error) {
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(path, 0o777)
}

func (out *output) addTopics(c *conversion) error {
	out.ids = make([]storage.TopicID, len(c.topics))
	for i, topic := range out.topics {
		if topic == nil {
			continue
		}
		id, err := out.addTopic(c, storage.TopicID(i), *topic)
		if err != nil {
			return err
		}
		out.ids[i] = id + 1
	}
	return nil
}

// write passes messages on. What the storage can not hold costs that message.
func (out *output) write(messages []storage.Message) error {
	err := out.writer.Write(messages)
	var rejected *storage.RejectedError
	if errors.As(err, &rejected) {
		out.tooBig += uint64(len(rejected.Indexes))
		if out.refused == nil {
			out.refused = rejected.Err
		}
		return nil
	}
	return err
}

// finish makes all outputs whole and gives them their names.
func (c *conversion) finish() error {
	for _, out := range c.outputs {
		out.sealed = true
		if err := out.writer.Seal(); err != nil {
			return err
		}
		if out.tooBig > 0 {
			c.lose("%s: %d message(s) not written: %v", out.Path, out.tooBig, out.refused)
		}
	}
	for _, text := range c.reader.Notes() {
		if !slices.Contains(c.report.Lost, text) {
			c.note("%s", text)
		}
	}
	for _, out := range c.outputs {
		path, err := filepath.Abs(out.Path)
		if err != nil {
			return err
		}
		if err := renameNew(filepath.Join(out.partial, filepath.Base(path)), path); err != nil {
			if errors.Is(err, os.ErrExist) {
				return fmt.Errorf("create bag: %s: %w", out.Path, ErrExists)
			}
			return fmt.Errorf("create bag: %w", err)
		}
		out.renamed = true
		if err := storage.SyncDirectory(filepath.Dir(path)); err != nil {
			return err
		}
		metadata := out.writer.Metadata()
		if metadata.MessageCount == 0 && len(metadata.Topics) > 0 {
			c.noteEmpty(out)
		}
		const many = 10
		if files := len(metadata.Paths); out.Writer.MaxSize > 0 && files > many && 2*uint64(files) > metadata.MessageCount {
			c.note("%s: %d messages fill %d files, since definitions and indexes take most of %d bytes; allow larger files",
				out.Path, metadata.MessageCount, files, out.Writer.MaxSize)
		}
		c.report.Outputs = append(c.report.Outputs, Converted{
			Path: out.Path, Messages: metadata.MessageCount, Topics: len(metadata.Topics), Files: len(metadata.Paths),
			Bytes: sizeOfFiles(path, metadata.Paths), Copied: out.copied,
		})
	}
	return nil
}

func sizeOfFiles(directory string, names []string) int64 {
	var sum int64
	for _, name := range names {
		if size, err := sizeOf(filepath.Join(directory, name)); err == nil {
			sum += size
		}
	}
	return sum
}

// discard removes what did not get its name, and the directories it was made in.
func (c *conversion) discard() error {
	var errs []error
	for _, out := range c.outputs {
		if out.writer != nil && !out.sealed {
			_ = out.writer.abandon() // the files go, whatever closing them says
		}
		if out.partial != "" {
			errs = append(errs, os.RemoveAll(out.partial))
		}
		if !out.renamed {
			for _, path := range slices.Backward(out.parents) {
				_ = os.Remove(path) // not if somebody else put something there
			}
		}
	}
	return errors.Join(errs...)
}
