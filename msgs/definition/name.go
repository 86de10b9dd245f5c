package definition

import (
	"fmt"
	"strings"
)

// typeName is a message type with its package and its kind: "msg", "srv" or "action".
type typeName struct {
	pkg, kind, name string
}

// parseTypeName reads pkg/kind/Name, or pkg/Name for a message. Names come from the network and become file names
// here, so that nothing but letters, digits and underscores may pass.
func parseTypeName(s string) (typeName, error) {
	parts := strings.Split(s, "/")
	for _, part := range parts {
		if !isIdentifier(part) {
			return typeName{}, fmt.Errorf("parse type name %q: not of the form package/msg/Name", s)
		}
	}
	switch {
	case len(parts) == 2:
		return typeName{parts[0], "msg", parts[1]}, nil
	case len(parts) == 3 && (parts[1] == "msg" || parts[1] == "srv" || parts[1] == "action"):
		return typeName{parts[0], parts[1], parts[2]}, nil
	}
	return typeName{}, fmt.Errorf("parse type name %q: not of the form package/msg/Name", s)
}

// String is the full name, pkg/kind/Name.
func (t typeName) String() string { return t.pkg + "/" + t.kind + "/" + t.name }

// short is the name as ros2msg texts write it, pkg/Name. A part of a service or an action has it too: message names
// hold no underscore, so that pkg/T_Request can not be a message of its own.
func (t typeName) short() string { return t.pkg + "/" + t.name }

// scoped is the name as IDL writes it.
func (t typeName) scoped() string { return t.pkg + "::" + t.kind + "::" + t.name }

func isIdentifier(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
