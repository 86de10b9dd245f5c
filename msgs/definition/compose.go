package definition

import (
	"fmt"
	"strings"
)

// field is a field of a composed message.
type field struct {
	name     string
	builtin  string   // the .msg word of a builtin type, empty for others
	ref      typeName // the type where builtin is empty
	atMost1  bool     // a sequence with at most one element
	idlWords string   // the IDL words of builtin
}

var (
	eventInfo = typeName{"service_msgs", "msg", "ServiceEventInfo"}
	goalID    = typeName{"unique_identifier_msgs", "msg", "UUID"}
	stampType = typeName{"builtin_interfaces", "msg", "Time"}
)

// composition gives the fields of a message that has no text of its own, and false for all others.
func composition(t typeName) ([]field, bool) {
	sibling := func(name string) typeName { return typeName{t.pkg, t.kind, name} }
	if base, ok := strings.CutSuffix(t.name, "_Event"); ok && isService(t.kind, base) {
		return []field{
			{name: "info", ref: eventInfo},
			{name: "request", ref: sibling(base + "_Request"), atMost1: true},
			{name: "response", ref: sibling(base + "_Response"), atMost1: true},
		}, true
	}
	if t.kind != "action" {
		return nil, false
	}
	if base, ok := strings.CutSuffix(t.name, "_FeedbackMessage"); ok {
		return []field{{name: "goal_id", ref: goalID}, {name: "feedback", ref: sibling(base + "_Feedback")}}, true
	}
	if base, ok := strings.CutSuffix(t.name, "_SendGoal_Request"); ok {
		return []field{{name: "goal_id", ref: goalID}, {name: "goal", ref: sibling(base + "_Goal")}}, true
	}
	if strings.HasSuffix(t.name, "_SendGoal_Response") {
		return []field{{name: "accepted", builtin: "bool", idlWords: "boolean"}, {name: "stamp", ref: stampType}}, true
	}
	if strings.HasSuffix(t.name, "_GetResult_Request") {
		return []field{{name: "goal_id", ref: goalID}}, true
	}
	if base, ok := strings.CutSuffix(t.name, "_GetResult_Response"); ok {
		return []field{
			{name: "status", builtin: "int8", idlWords: "int8"},
			{name: "result", ref: sibling(base + "_Result")},
		}, true
	}
	return nil, false
}

// isService says whether base names a service: every .srv, and the two services of an action.
func isService(kind, base string) bool {
	return kind == "srv" ||
		kind == "action" && (strings.HasSuffix(base, "_SendGoal") || strings.HasSuffix(base, "_GetResult"))
}

// section tells which interface file and which of its sections holds the text of t, a plain part of a service or an
// action.
func section(t typeName) (file typeName, index int, ok bool) {
	suffixes := []string{"_Request", "_Response"}
	if t.kind == "action" {
		suffixes = []string{"_Goal", "_Result", "_Feedback"}
	}
	for i, suffix := range suffixes {
		if base, found := strings.CutSuffix(t.name, suffix); found && base != "" && t.kind != "msg" {
			return typeName{t.pkg, t.kind, base}, i, true
		}
	}
	return typeName{}, 0, false
}

// messageText writes fields in the .msg grammar. References are written with their package: readers resolve bare
// names differently below a schema that is no pkg/msg.
func messageText(fields []field) string {
	var b strings.Builder
	for _, f := range fields {
		word := f.builtin
		if word == "" {
			word = f.ref.short()
		}
		if f.atMost1 {
			word += "[<=1]"
		}
		fmt.Fprintf(&b, "%s %s\n", word, f.name)
	}
	return b.String()
}

// idlText writes fields as an IDL struct t with the includes it needs.
func idlText(t typeName, fields []field) string {
	var includes, members strings.Builder
	seen := map[typeName]bool{}
	for _, f := range fields {
		word := f.idlWords
		if f.builtin == "" {
			word = f.ref.scoped()
			if file := idlFile(f.ref); !seen[file] {
				seen[file] = true
				fmt.Fprintf(&includes, "#include %q\n", file.String()+".idl")
			}
		}
		if f.atMost1 {
			word = "sequence<" + word + ", 1>"
		}
		fmt.Fprintf(&members, "      %s %s;\n", word, f.name)
	}
	return fmt.Sprintf("%s\nmodule %s {\n  module %s {\n    struct %s {\n%s    };\n  };\n};\n",
		includes.String(), t.pkg, t.kind, t.name, members.String())
}

// idlFile is the IDL part that declares t: the file of its service or action, or the type itself.
func idlFile(t typeName) typeName {
	if _, composed := composition(t); composed {
		return t
	}
	if file, _, ok := section(t); ok {
		return file
	}
	return t
}
