package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Description is what a type is made of: type_description_interfaces/msg/TypeDescription.
type Description struct {
	Type       Type
	Referenced []Type // every type below it, sorted by name, each once
}

// Type is a type without the types that it uses: type_description_interfaces/msg/IndividualTypeDescription.
type Type struct {
	Name   string // pkg/msg/Name
	Fields []Field
}

// Field is a field of a type. Constants are none: they are not on the wire.
type Field struct {
	Name    string
	Type    FieldType
	Default string // as Python writes the value; empty for none
}

// FieldType is type_description_interfaces/msg/FieldType.
type FieldType struct {
	ID             uint8  // which type, and what kind of list of it
	Capacity       uint64 // elements of an array, at most that many of a bounded sequence
	StringCapacity uint64 // characters of a bounded string
	Nested         string // name of the type that ID 1 stands for
}

// Source is a text from which a type was made: type_description_interfaces/msg/TypeSource.
type Source struct {
	TypeName string
	Encoding string // "msg", "srv" and so on; "implicit" for a type that has no text of its own
	Text     string
}

// Identifiers of FieldType: a type, and what is added to it for a list.
const (
	nestedID        = 1
	stringID        = 17
	wstringID       = 18
	boundedString   = 4 // to a string
	arrayOf         = 48
	boundedSequence = 96
	sequence        = 144
)

// fieldTypes are the words of the .msg grammar. char is a number in ROS 2.
var fieldTypes = map[string]uint8{
	"int8": 2, "uint8": 3, "char": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8, "uint64": 9,
	"float32": 10, "float64": 11, "bool": 15, "byte": 16, "string": stringID, "wstring": wstringID,
}

// emptyField stands in types without fields: a struct of IDL can not be empty.
var emptyField = Field{Name: "structure_needs_at_least_one_member", Type: FieldType{ID: 3}}

// Hash is the hash of REP 2011: RIHS01_ and the SHA-256 of the description in a fixed form of JSON, which leaves the
// defaults out.
func (d Description) Hash() string {
	var b strings.Builder
	b.WriteString(`{"type_description": `)
	d.Type.writeJSON(&b)
	b.WriteString(`, "referenced_type_descriptions": [`)
	for i, t := range d.Referenced {
		if i > 0 {
			b.WriteString(", ")
		}
		t.writeJSON(&b)
	}
	b.WriteString("]}")
	sum := sha256.Sum256([]byte(b.String()))
	return "RIHS01_" + hex.EncodeToString(sum[:])
}

// writeJSON relies on names being identifiers: nothing has to be escaped.
func (t Type) writeJSON(b *strings.Builder) {
	fmt.Fprintf(b, `{"type_name": "%s", "fields": [`, t.Name)
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, "nested_type_name": "%s"}}`,
			f.Name, f.Type.ID, f.Type.Capacity, f.Type.StringCapacity, f.Type.Nested)
	}
	b.WriteString("]}")
}

// parseFieldType reads a type as the .msg grammar of package pkg writes it.
func parseFieldType(pkg, text string) (FieldType, error) {
	word, list := text, ""
	if i := strings.IndexByte(text, '['); i >= 0 {
		word, list = text[:i], text[i:]
	}
	var t FieldType
	base, bound, bounded := strings.Cut(word, "<=")
	switch id, builtin := fieldTypes[base]; {
	case bounded && id != stringID && id != wstringID:
		return t, fmt.Errorf("%q: only strings have a bound", text)
	case bounded:
		capacity, err := parseCapacity(bound)
		if err != nil {
			return t, fmt.Errorf("%q: %w", text, err)
		}
		t.ID, t.StringCapacity = id+boundedString, capacity
	case builtin:
		t.ID = id
	case isBuiltin(base):
		return t, fmt.Errorf("%q: ROS 2 has no such type", text)
	default:
		ref, err := resolve(pkg, base)
		if err != nil {
			return t, err
		}
		t.ID, t.Nested = nestedID, ref.String()
	}
	if list == "" {
		return t, nil
	}
	inner, closed := strings.CutSuffix(list[1:], "]")
	if !closed {
		return t, fmt.Errorf("%q: a bracket is not closed", text)
	}
	if inner == "" {
		t.ID += sequence
		return t, nil
	}
	length, atMost := strings.CutPrefix(inner, "<=")
	capacity, err := parseCapacity(length)
	if err != nil {
		return t, fmt.Errorf("%q: %w", text, err)
	}
	t.Capacity = capacity
	if atMost {
		t.ID += boundedSequence
	} else {
		t.ID += arrayOf
	}
	return t, nil
}

func parseCapacity(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no number of elements", text)
	}
	return n, nil
}

// word writes t in the .msg grammar; false when the grammar has no word for it.
func (t FieldType) word() (string, bool) {
	id, list := t.ID, ""
	switch {
	case id > sequence:
		id, list = id-sequence, "[]"
	case id > boundedSequence:
		id, list = id-boundedSequence, fmt.Sprintf("[<=%d]", t.Capacity)
	case id > arrayOf:
		id, list = id-arrayOf, fmt.Sprintf("[%d]", t.Capacity)
	}
	switch id {
	case nestedID:
		ref, err := parseTypeName(t.Nested)
		return ref.short() + list, err == nil
	case stringID + boundedString:
		return fmt.Sprintf("string<=%d", t.StringCapacity) + list, true
	case wstringID + boundedString:
		return fmt.Sprintf("wstring<=%d", t.StringCapacity) + list, true
	}
	for word, known := range fieldTypes {
		if known == id && word != "char" {
			return word + list, true
		}
	}
	return "", false
}
