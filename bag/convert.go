package bag

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"rosbagd/storage"
)

// TimeRange is a range of log times; the zero TimeRange is all of them.
type TimeRange struct {
	FromNanos  int64 // first one, inclusive
	UntilNanos int64 // last one, inclusive, if HasUntil
	HasUntil   bool
}

// Contains says whether a time is in the range.
func (t TimeRange) Contains(nanos int64) bool {
	return nanos >= t.FromNanos && (!t.HasUntil || nanos <= t.UntilNanos)
}

// Intersect gives the times that are in both.
func (t TimeRange) Intersect(other TimeRange) TimeRange {
	t.FromNanos = max(t.FromNanos, other.FromNanos)
	if other.HasUntil && (!t.HasUntil || other.UntilNanos < t.UntilNanos) {
		t.UntilNanos, t.HasUntil = other.UntilNanos, true
	}
	return t
}

// ConvertInput is a bag to read.
type ConvertInput struct {
	Path      string
	StorageID string // as ReaderOptions
	Config    storage.Config
	Times     TimeRange
}

// ConvertOutput is a bag to write.
type ConvertOutput struct {
	Path      string // of the directory, which must not exist
	Selection Selection
	Times     TimeRange
	// StartOffset is from the first log time of all inputs on, and narrows Times, as Duration does: the longest that the
	// bag may be from where it begins. 0 is none.
	StartOffset, Duration time.Duration
	// Rename gives topics another name, by the name in the inputs. Selection is about the latter.
	Rename map[string]string
	// Format is the serialization format that all topics must have, because nothing is converted; empty for any.
	Format string
	// Writer are the settings of the bag. What CustomData does not say, and ROSDistro when it is empty, are taken over
	// from the inputs.
	Writer WriterOptions
	// Notes are told with those of the conversion.
	Notes []string
}

// Progress is how far a conversion is.
type Progress struct {
	Messages uint64  // read so far
	Done     float64 // 0 to 1, by log time
}

// ConvertOptions are what Convert is to do.
type ConvertOptions struct {
	Inputs  []ConvertInput
	Outputs []ConvertOutput
	// Progress is called from one goroutine, many times a second; nil for none.
	Progress func(Progress)
	Logger   *zap.Logger // nil logs nothing
}

// Converted is what an output got.
type Converted struct {
	Path     string
	Messages uint64
	Topics   int
	Files    int
	Bytes    int64  // size of the files
	Copied   uint64 // messages of blocks that were copied as they are
}

// ConvertReport is what Convert did.
type ConvertReport struct {
	Outputs []Converted
	// Notes are sentences about what is left out or not as it should be.
	Notes []string
	// Lost are sentences about messages of the inputs that should be in the outputs and are not.
	Lost []string
}

// ErrSameOutput is returned by Convert for outputs that can not all be made, and for one that lies in an input.
var ErrSameOutput = errors.New("output can not be made there")

// SettingError is about what an output was asked to be, as opposed to what is in the bags: nothing was done.
type SettingError struct{ Err error }

func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *SettingError) Unwrap() error { return e.Err }

// Convert rewrites bags: it moves the messages of all inputs, undecoded and in the order of their log times, to each
// output that wants them. Where nothing changes in a whole block of a file, the block is copied as it is.
//
// Outputs are made under another name beside their own, and get it when all of them are whole. If ctx ends, or something
// fails, nothing stays behind. Damaged parts of inputs are left out and told of in the report.
func Convert(ctx context.Context, options ConvertOptions) (report *ConvertReport, err error) {
	c := &conversion{options: options, report: &ConvertReport{}}
	if c.options.Progress == nil {
		c.options.Progress = func(Progress) {}
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.reader.Close()) }()
	if err := checkPaths(options); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.discard()) }()
	defer func() {
		for _, f := range c.held {
			err = errors.Join(err, c.reader.release(f))
		}
	}()
	for i := range c.outputs {
		if err := c.outputs[i].create(c); err != nil {
			return nil, err
		}
	}
	if err := c.move(ctx); err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return c.report, nil
}

// conversion is one call of Convert.
type conversion struct {
	options ConvertOptions
	report  *ConvertReport
	reader  *Reader
	topics  []storage.Topic // of the reader, with definitions
	outputs []*output
	held    []*file // stay open because topics are described as they do it
	read    uint64
	wanted  TimeRange // what some output wants, and maybe more between
	span    TimeRange // of the messages in it
}

// open opens the inputs and decides where each topic goes.
func (c *conversion) open() error {
	if len(c.options.Inputs) == 0 || len(c.options.Outputs) == 0 {
		return errors.New("Must provide at least one input and one output bag to rewrite.") //nolint:revive,staticcheck // the text is rosbag2's
	}
	var err error
	if c.reader, err = openInputs(c.options.Inputs); err != nil {
		return err
	}
	if err := c.plan(); err != nil {
		return errors.Join(err, c.reader.Close())
	}
	return nil
}

func (c *conversion) plan() error {
	c.missing()
	c.describeTopics()
	for i := range c.options.Outputs {
		out, err := c.planOutput(&c.options.Outputs[i])
		if err != nil {
			return fmt.Errorf("convert to %s: %w", c.options.Outputs[i].Path, err)
		}
		c.outputs = append(c.outputs, out)
	}
	c.wanted = c.outputs[0].Times
	for _, out := range c.outputs[1:] {
		c.wanted.FromNanos = min(c.wanted.FromNanos, out.Times.FromNanos)
		c.wanted.UntilNanos = max(c.wanted.UntilNanos, out.Times.UntilNanos)
		c.wanted.HasUntil = c.wanted.HasUntil && out.Times.HasUntil
	}
	whole := c.reader.Metadata()
	c.span = c.wanted.Intersect(TimeRange{
		FromNanos: whole.StartNanos, UntilNanos: later(whole.StartNanos, whole.Duration), HasUntil: true,
	})
	return nil
}

// describeTopics takes what the inputs tell of their topics.
func (c *conversion) describeTopics() {
	for i, info := range c.reader.Topics() {
		topic := info.Topic
		definition, err := c.reader.Definition(storage.TopicID(i))
		if err != nil {
			c.lose("%v", err)
		}
		topic.Definition = definition
		c.topics = append(c.topics, topic)
	}
}

func (c *conversion) note(format string, arguments ...any) {
	if text := fmt.Sprintf(format, arguments...); !slices.Contains(c.report.Notes, text) {
		c.report.Notes = append(c.report.Notes, text)
	}
}

// lose notes what should be in the outputs and is not. A damaged file may have a lot of it, which nobody reads.
func (c *conversion) lose(format string, arguments ...any) {
	const most = 20
	text := fmt.Sprintf(format, arguments...)
	switch {
	case slices.Contains(c.report.Lost, text):
	case len(c.report.Lost) < most:
		c.report.Lost = append(c.report.Lost, text)
	case len(c.report.Lost) == most:
		c.report.Lost = append(c.report.Lost, "more of it is not listed")
	}
}
