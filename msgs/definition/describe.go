package definition

import (
	"fmt"
	"slices"
	"strings"

	"rosbagd/storage"
)

// Describe reads what typ (pkg/msg/Name, pkg/srv/T_Event and so on) is made of out of a joined text of the encoding
// "ros2msg", and the texts of its types. "ros2idl" is not read. Where rosbag2 has kept the text of a whole .srv or
// .action file for one of its parts, the part is found in it.
func Describe(typ string, d storage.Definition) (Description, []Source, error) {
	root, err := parseTypeName(typ)
	if err != nil {
		return Description{}, nil, err
	}
	if d.Encoding != "ros2msg" {
		return Description{}, nil, fmt.Errorf("describe %s: a definition of encoding %q is not read", typ, d.Encoding)
	}
	if len(d.Text) > maxText {
		return Description{}, nil, fmt.Errorf("describe %s: %w", typ, errLong)
	}
	text := parseJoined(root, d.Text)
	var found []Type
	var sources []Source
	seen := map[typeName]bool{root: true}
	for queue := []typeName{root}; len(queue) > 0; queue = queue[1:] {
		if len(seen) > maxTypes {
			return Description{}, nil, fmt.Errorf("describe %s: %w", typ, errManyTypes)
		}
		fields, source, err := text.read(queue[0])
		if err != nil {
			return Description{}, nil, fmt.Errorf("describe %s: %w", typ, err)
		}
		found, sources = append(found, Type{Name: queue[0].String(), Fields: fields}), append(sources, source)
		for _, f := range fields {
			if f.Type.Nested == "" {
				continue
			}
			ref, err := parseTypeName(f.Type.Nested)
			if err != nil {
				return Description{}, nil, fmt.Errorf("describe %s: %w", typ, err)
			}
			if !seen[ref] {
				seen[ref] = true
				queue = append(queue, ref)
			}
		}
	}
	described := Description{Type: found[0], Referenced: found[1:]}
	slices.SortFunc(described.Referenced, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(sources[1:], func(a, b Source) int { return strings.Compare(a.TypeName, b.TypeName) })
	return described, sources, nil
}

// joinedText is a joined text taken apart.
type joinedText struct {
	root     typeName
	rootText string
	sections []string          // of rootText; several where it is a whole .srv or .action file
	byShort  map[string]string // texts of the other types by pkg/Name
}

// parseJoined cuts text at the lines that join has put between the types.
func parseJoined(root typeName, text string) joinedText {
	j := joinedText{root: root, byShort: map[string]string{}}
	parts := strings.Split("\n"+text, "\n"+separator)
	j.rootText = strings.TrimPrefix(parts[0], "\n")
	j.sections = sections(j.rootText)
	for _, part := range parts[1:] {
		header, body, _ := strings.Cut(part, "\n")
		_, name, _ := strings.Cut(strings.TrimSpace(header), ": ")
		t, err := parseTypeName(name)
		if err != nil {
			continue
		}
		if _, twice := j.byShort[t.short()]; !twice {
			j.byShort[t.short()] = body
		}
	}
	return j
}

// read gives the fields of one type and where they come from.
func (j joinedText) read(t typeName) ([]Field, Source, error) {
	if composed, ok := composition(t); ok {
		return composedFields(composed), Source{TypeName: t.String(), Encoding: "implicit"}, nil
	}
	text, ok := j.text(t)
	if !ok {
		return nil, Source{}, fmt.Errorf("the definition lacks %s", t)
	}
	fields, err := messageFields(t.pkg, text)
	if err != nil {
		return nil, Source{}, fmt.Errorf("read %s: %w", t, err)
	}
	if t.kind != "msg" { // a section of a file that is not here as a whole
		return fields, Source{TypeName: t.String(), Encoding: "implicit"}, nil
	}
	return fields, Source{TypeName: t.String(), Encoding: "msg", Text: text}, nil
}

func (j joinedText) text(t typeName) (string, bool) {
	file, index, isSection := section(t)
	switch {
	case isSection && len(j.sections) > index && len(j.sections) > 1 && strings.HasPrefix(j.root.String(), file.String()+"_"):
		return j.sections[index], true // a .srv or .action file stands for its part
	case t == j.root:
		return j.rootText, true
	}
	if text, ok := j.byShort[t.short()]; ok {
		return text, true
	}
	text, ok := wellKnown[t]
	return text, ok
}

// wellKnown are the types behind every service event and action. A file that kept only the service's own text lacks
// them; they are the same in all distros that have such events.
var wellKnown = map[typeName]string{
	stampType: "int32 sec\nuint32 nanosec\n",
	goalID:    "uint8[16] uuid\n",
	eventInfo: "uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n",
}

func composedFields(composed []field) []Field {
	fields := make([]Field, len(composed))
	for i, f := range composed {
		t := FieldType{ID: fieldTypes[f.builtin]}
		if f.builtin == "" {
			t = FieldType{ID: nestedID, Nested: f.ref.String()}
		}
		if f.atMost1 {
			t.ID, t.Capacity = t.ID+boundedSequence, 1
		}
		fields[i] = Field{Name: f.name, Type: t}
	}
	return fields
}
