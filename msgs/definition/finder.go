package definition

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"rosbagd/storage"
)

// ErrNotFound says that a type, or one that it uses, is not installed below any prefix.
var ErrNotFound = errors.New("no such interface is installed")

// separator stands before each part of a joined text, but not before a ros2msg root.
var separator = strings.Repeat("=", 80) + "\n"

// Finder looks for definitions in directories of packages, the first one that has a file wins.
type Finder struct {
	directories []string

	mu    sync.Mutex
	found map[string]storage.Definition // by type as asked for
}

// NewFinder makes a Finder over prefixes, each the root of an installation with a share directory.
func NewFinder(prefixes []string) *Finder { return NewFinderIn(shares(prefixes)) }

// NewFinderIn makes a Finder over directories, each with <package>/msg/<Name>.msg and so on below it.
func NewFinderIn(directories []string) *Finder {
	return &Finder{directories: directories, found: map[string]storage.Definition{}}
}

func shares(prefixes []string) []string {
	directories := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		directories[i] = filepath.Join(prefix, "share")
	}
	return directories
}

// Prefixes splits the value of AMENT_PREFIX_PATH.
func Prefixes(path string) []string {
	var prefixes []string
	for _, prefix := range filepath.SplitList(path) {
		if prefix != "" {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// Definition gives the joined text of typ (pkg/msg/Name, pkg/srv/T_Event and so on). It returns ErrNotFound, with the
// name of what is missing, when it or a type it uses is not installed.
func (f *Finder) Definition(typ string) (storage.Definition, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d, ok := f.found[typ]; ok {
		return d, nil
	}
	root, err := parseTypeName(typ)
	if err != nil {
		return storage.Definition{}, fmt.Errorf("%w: %w", err, ErrNotFound)
	}
	text, err := join(root, f.messagePart, false)
	encoding := "ros2msg"
	if errors.Is(err, ErrNotFound) {
		if fromIDL, idlErr := join(idlFile(root), f.idlPart, true); idlErr == nil {
			text, encoding, err = fromIDL, "ros2idl", nil
		}
	}
	if err != nil {
		return storage.Definition{}, fmt.Errorf("find definition of %s: %w", typ, err)
	}
	d := storage.Definition{Encoding: encoding, Text: text}
	f.found[typ] = d
	return d, nil
}

// part is the text of one type without the types it uses.
type part struct {
	header string // the line that stands above it
	text   string
	uses   []typeName
}

// join writes root and everything it uses, depth first, each once, within the bounds of maxTypes and maxText.
func join(root typeName, get func(typeName) (part, error), rootHeader bool) (string, error) {
	var b strings.Builder
	seen := map[typeName]bool{root: true}
	var add func(typeName, bool) error
	add = func(t typeName, header bool) error {
		p, err := get(t)
		if err != nil {
			return err
		}
		if header {
			b.WriteString(separator + p.header + "\n")
		}
		b.WriteString(p.text)
		if b.Len() > maxText {
			return errLong
		}
		for _, used := range p.uses {
			if seen[used] {
				continue
			}
			seen[used] = true
			if len(seen) > maxTypes {
				return errManyTypes
			}
			b.WriteString("\n")
			if err := add(used, true); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(root, rootHeader); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (f *Finder) messagePart(t typeName) (part, error) {
	text, path, err := f.messageSource(t)
	if err != nil {
		return part{}, err
	}
	if fields, ok := composition(t); ok { // its references name services and actions, which the grammar has no word for
		p := part{header: "MSG: " + t.short(), text: text}
		for _, f := range fields {
			if f.builtin == "" {
				p.uses = append(p.uses, f.ref)
			}
		}
		p.uses = sortedOnce(p.uses)
		return p, nil
	}
	uses, err := messageReferences(t.pkg, text)
	if err != nil {
		return part{}, fmt.Errorf("read %s: %w", path, err)
	}
	return part{header: "MSG: " + t.short(), text: text, uses: uses}, nil
}

// messageSource is the .msg text of t alone, and the file that it is from: the whole of it, or a section of a .srv or
// .action. A text that is composed is from no file.
func (f *Finder) messageSource(t typeName) (text, path string, err error) {
	if fields, ok := composition(t); ok {
		return messageText(fields), "", nil
	}
	if t.kind == "msg" {
		return f.read(t, "msg")
	}
	file, index, ok := section(t)
	if !ok {
		return "", "", fmt.Errorf("%s is a whole %s, not a message: %w", t, t.kind, ErrNotFound)
	}
	text, path, err = f.read(file, file.kind)
	if err != nil {
		return "", "", err
	}
	parts := sections(text)
	if index >= len(parts) {
		return "", "", fmt.Errorf("read %s: it has %d sections, %s needs %d", path, len(parts), t, index+1)
	}
	return parts[index], path, nil
}

func (f *Finder) idlPart(t typeName) (part, error) {
	var text string
	if fields, ok := composition(t); ok {
		text = idlText(t, fields)
	} else {
		var err error
		if text, _, err = f.read(t, "idl"); err != nil {
			return part{}, err
		}
	}
	return part{header: "IDL: " + t.String(), text: text, uses: idlReferences(text)}, nil
}

// read gives the content of <pkg>/<kind>/<Name>.<ext> in the first directory that has it, and its path.
func (f *Finder) read(t typeName, ext string) (text, path string, err error) {
	for _, directory := range f.directories {
		path := filepath.Join(directory, t.pkg, t.kind, t.name+"."+ext)
		text, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("read definition: %w", err)
		}
		return text, path, nil
	}
	return "", "", fmt.Errorf("%s.%s: %w", t, ext, ErrNotFound)
}
