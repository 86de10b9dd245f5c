package definition

import (
	"fmt"
	"slices"
	"strings"
)

// isBuiltin says whether name is a type of the .msg grammar itself.
func isBuiltin(name string) bool {
	_, known := fieldTypes[name]
	return known || name == "time" || name == "duration" // of ROS 1: refused where a description is asked for
}

// statement is a line of .msg text with something in it: a field or a constant.
type statement struct {
	line int
	typ  string // as it is written
	name string
	rest string // what stands behind the name: "= value" of a constant, a default, a comment
}

func (s statement) isConstant() bool { return strings.HasPrefix(s.rest, "=") }

// statements cuts .msg text into its statements, and looks no deeper into them.
func statements(text string) ([]statement, error) {
	var found []statement
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		end := strings.IndexFunc(line, isSpace)
		if end < 0 || strings.TrimSpace(line[end:])[0] == '#' {
			return nil, fmt.Errorf("read line %d: %q has no field name", number, strings.Fields(line)[0])
		}
		s := statement{line: number, typ: line[:end], name: strings.TrimSpace(line[end:])}
		if end := strings.IndexFunc(s.name, func(c rune) bool { return isSpace(c) || c == '=' || c == '#' }); end >= 0 {
			s.name, s.rest = s.name[:end], strings.TrimSpace(s.name[end:])
		}
		found = append(found, s)
	}
	return found, nil
}

func isSpace(c rune) bool { return strings.ContainsRune(" \t\r\v\f", c) }

// messageReferences lists the types that the .msg text of package pkg uses, sorted, each once. Constants and defaults
// are not looked at.
func messageReferences(pkg, text string) ([]typeName, error) {
	lines, err := statements(text)
	if err != nil {
		return nil, err
	}
	var refs []typeName
	for _, s := range lines {
		base := s.typ
		if end := strings.IndexAny(base, "[<"); end >= 0 { // an array or the bound of a string
			base = base[:end]
		}
		if isBuiltin(base) {
			continue
		}
		ref, err := resolve(pkg, base)
		if err != nil {
			return nil, fmt.Errorf("read line %d: %w", s.line, err)
		}
		refs = append(refs, ref)
	}
	return sortedOnce(refs), nil
}

// messageFields reads the fields of .msg text of package pkg.
func messageFields(pkg, text string) ([]Field, error) {
	lines, err := statements(text)
	if err != nil {
		return nil, err
	}
	var fields []Field
	for _, s := range lines {
		typ, err := parseFieldType(pkg, s.typ)
		if err != nil {
			return nil, fmt.Errorf("read line %d: %w", s.line, err)
		}
		if !isIdentifier(s.name) {
			return nil, fmt.Errorf("read line %d: %q is no field name", s.line, s.name)
		}
		if !s.isConstant() {
			fields = append(fields, Field{Name: s.name, Type: typ, Default: defaultValue(typ, s.rest)})
		}
	}
	if len(fields) == 0 {
		fields = []Field{emptyField}
	}
	return fields, nil
}

// resolve finds out which type a reference within package pkg means.
func resolve(pkg, reference string) (typeName, error) {
	switch {
	case reference == "Header":
		return typeName{"std_msgs", "msg", "Header"}, nil
	case !strings.Contains(reference, "/"):
		reference = pkg + "/" + reference
	}
	return parseTypeName(reference)
}

// idlReferences lists the IDL files that text includes, as type names, sorted, each once. Includes that are no
// interface file are left out.
func idlReferences(text string) []typeName {
	var refs []typeName
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#include")
		if !ok {
			continue
		}
		path := strings.Trim(strings.TrimSpace(rest), `"<>`)
		name, ok := strings.CutSuffix(path, ".idl")
		if !ok {
			continue
		}
		if ref, err := parseTypeName(name); err == nil {
			refs = append(refs, ref)
		}
	}
	return sortedOnce(refs)
}

// sections cuts the text of a .srv or .action file at its separator lines.
func sections(text string) []string {
	var parts []string
	start, at := 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			parts = append(parts, text[start:at])
			start = at + len(line)
		}
		at += len(line)
	}
	return append(parts, text[start:])
}

func sortedOnce(refs []typeName) []typeName {
	slices.SortFunc(refs, func(a, b typeName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(refs)
}
