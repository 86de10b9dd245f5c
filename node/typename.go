package node

import (
	"fmt"
	"regexp"
)

// TypeName is an interface type, taken apart: "pkg/msg/Name".
type TypeName struct {
	Package string
	Kind    string // msg, srv or action
	Name    string
}

var typeNamePattern = regexp.MustCompile(`^([a-z][a-z0-9_]*)/(msg|srv|action)/([A-Za-z][A-Za-z0-9_]*)$`)

// ParseTypeName takes a type name apart. The name ends up in file and symbol names, so it is checked here.
func ParseTypeName(typ string) (TypeName, error) {
	parts := typeNamePattern.FindStringSubmatch(typ)
	if parts == nil {
		return TypeName{}, fmt.Errorf("type %q is not of the form pkg/msg/Name", typ)
	}
	return TypeName{Package: parts[1], Kind: parts[2], Name: parts[3]}, nil
}
