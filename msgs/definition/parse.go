package definition

import (
	"fmt"
	"slices"
	"strings"
)

// isBuiltin says whether name is a type of the .msg grammar itself.
func isBuiltin(name string) bool {
	switch name {
	case "bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32",
		"int64", "uint64", "string", "wstring", "time", "duration":
		return true
	}
	return false
}

// messageReferences lists the types that the .msg text of package pkg uses, sorted, each once. It reads the grammar
// only as deep as that needs: each line that is neither blank nor a comment starts with a type and has a name behind
// it; constants and defaults are not looked at.
func messageReferences(pkg, text string) ([]typeName, error) {
	var refs []typeName
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if len(fields) == 1 || fields[1][0] == '#' {
			return nil, fmt.Errorf("read line %d: %q has no field name", number, fields[0])
		}
		base := fields[0]
		if end := strings.IndexAny(base, "[<"); end >= 0 { // an array or the bound of a string
			base = base[:end]
		}
		if isBuiltin(base) {
			continue
		}
		ref, err := resolve(pkg, base)
		if err != nil {
			return nil, fmt.Errorf("read line %d: %w", number, err)
		}
		refs = append(refs, ref)
	}
	return sortedOnce(refs), nil
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
	parts := []string{""}
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			parts = append(parts, "")
			continue
		}
		parts[len(parts)-1] += line
	}
	return parts
}

func sortedOnce(refs []typeName) []typeName {
	slices.SortFunc(refs, func(a, b typeName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(refs)
}
