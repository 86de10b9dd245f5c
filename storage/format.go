package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Config is a storage config file: YAML with keys of the format's own. The zero Config is none.
type Config struct {
	Path string // for messages
	Data []byte
}

// CreateOptions are the settings that every format understands in its own way.
type CreateOptions struct {
	// Preset is a storage preset profile of the format; empty is its default.
	Preset string
	// Config is applied over the preset.
	Config Config
	// Metadata is the YAML of the bag's metadata (without its root key) as it is at the start, for formats that keep a
	// copy; empty for none.
	Metadata []byte
	// MetadataVersion is the version in which a file keeps offered QoS profiles: as text with words from 9 on, with
	// numbers before; see qos.EncodeText. 0 is 9.
	MetadataVersion int
	// ROSDistro is the distro that records, for formats that keep it; empty when it is not known.
	ROSDistro string
	// Files is where the file is made, for formats that do not leave that to a library; nil is OSFiles.
	Files Files
}

// Configured is a Reader that can tell how its file was written.
type Configured interface {
	// Config is a storage config with which Create makes a file of the same kind: for MCAP, the same compression.
	Config() (Config, error)
}

// OpenOptions are the settings for reading that every format understands in its own way.
type OpenOptions struct {
	Config Config
	// Scan goes through all of the file to describe it, and believes no index or summary, for formats that have these.
	Scan bool
}

// Format is one storage format. Its functions are plain values; a format that this program knows but can not handle
// returns ErrUnsupported from them.
type Format struct {
	ID          string // the word of metadata.yaml and of --storage
	Extension   string // with its dot
	Description string // one line for `list`
	// Presets are the storage preset profiles, the default first.
	Presets []string
	// Risks says of presets, by their names, how they may cost messages.
	Risks map[string]string
	// Companions are put behind the name of a file for the files that are beside it while it is written, and after a
	// sudden end. What is in them belongs to it.
	Companions []string
	// MinSplit is the least size in bytes at which a bag of this format may be split.
	MinSplit int64
	// Matches tells from the first bytes of a file (up to HeadLen) whether it is of this format.
	Matches func(head []byte) bool
	// Create makes a new file, which must not exist, under its final name. The ids that AddTopic of its Writer gives
	// count up from 0.
	Create func(path string, options CreateOptions) (Writer, error)
	// Open opens a file for reading and creates nothing beside it. A damaged file opens as far as it can be read; its
	// Info says what is missing.
	Open func(path string, options OpenOptions) (Reader, error)
	// Stream reads a file from its start without ever going back, as it comes out of a decompressor; name is for
	// messages. It is nil where a format can not be read so.
	Stream func(name string, r io.Reader) (Stream, error)
	// Verify goes through all of a file once and tells what it finds, in the order of the file. It writes nothing. The
	// error is one of reading, not of the content.
	Verify func(path string, v Verification) error
}

// HeadLen is how many bytes from the start of a file suffice to recognise its format.
const HeadLen = 16

// Formats is a registry: the formats that a program has, the default first.
type Formats []Format

// Lookup finds a format by its id; ErrUnknownStorage names the ids there are.
func (f Formats) Lookup(id string) (Format, error) {
	ids := make([]string, 0, len(f))
	for _, format := range f {
		if format.ID == id {
			return format, nil
		}
		ids = append(ids, format.ID)
	}
	return Format{}, fmt.Errorf("%w %q (known: %s)", ErrUnknownStorage, id, strings.Join(ids, ", "))
}

// OpenFile opens a regular file for reading. Anything else could block for ever, or never end.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open bag file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open bag file: %s: %w", path, ErrNotRegular)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open bag file: %w", err)
	}
	return file, nil
}

// Detect finds the format of a file by its content. A file without a byte is ErrEmpty, one of no known format
// ErrUnknownFormat.
func (f Formats) Detect(path string) (Format, error) {
	file, err := OpenFile(path)
	if err != nil {
		return Format{}, err
	}
	defer file.Close()
	head := make([]byte, HeadLen)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Format{}, fmt.Errorf("read bag file: %w", err)
	}
	if n == 0 {
		return Format{}, fmt.Errorf("open %s: %w", path, ErrEmpty)
	}
	for _, format := range f {
		if format.Matches(head[:n]) {
			return format, nil
		}
	}
	if bytes.HasPrefix(head, []byte("#ROSBAG V")) {
		return Format{}, fmt.Errorf("open %s: %w: it is one of ROS 1, of which rosbags-convert (Python package rosbags) makes one of ROS 2",
			path, ErrUnknownFormat)
	}
	return Format{}, fmt.Errorf("open %s: %w", path, ErrUnknownFormat)
}

// DetectDamaged is Detect for a file whose beginning may be lost: where the content tells nothing, the extension does.
// Open then finds out whether anything of that format is left. A file that is no longer than its head has nothing else.
func (f Formats) DetectDamaged(path string) (Format, error) {
	format, err := f.Detect(path)
	if !errors.Is(err, ErrUnknownFormat) {
		return format, err
	}
	named, ok := f.Named(path)
	if info, statErr := os.Stat(path); !ok || statErr != nil || info.Size() <= HeadLen {
		return format, err
	}
	return named, nil
}

// Named finds a format by the extension of a path.
func (f Formats) Named(path string) (Format, bool) {
	extension := filepath.Ext(path)
	i := slices.IndexFunc(f, func(format Format) bool { return format.Extension == extension })
	if extension == "" || i < 0 {
		return Format{}, false
	}
	return f[i], true
}
