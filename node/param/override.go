package param

import "strings"

// Parameter is a name with a value.
type Parameter struct {
	Name  string
	Value Value
}

// Section is the part of a parameter file, or of the command line, that is meant for the nodes whose name matches.
type Section struct {
	Node       string // full or partial name, with wildcards
	Parameters []Parameter
}

// Override is a value that the user gave a parameter to begin with.
type Override struct {
	Value  Value
	Source string // for messages, such as "file robot.yaml"
}

// Overrides are what was given for one node, by the name of the parameter.
type Overrides map[string]Override

// Add puts the parameters of all sections that match the node into o. Later sections win over earlier ones, and over
// what was there before.
func (o Overrides) Add(node, source string, sections []Section) {
	for _, section := range sections {
		if !Matches(section.Node, node) {
			continue
		}
		for _, p := range section.Parameters {
			o[p.Name] = Override{Value: p.Value, Source: source}
		}
	}
}

// Attribute sets the source of those values that these sections give the node too.
func (o Overrides) Attribute(node, source string, sections []Section) {
	for _, section := range sections {
		if !Matches(section.Node, node) {
			continue
		}
		for _, p := range section.Parameters {
			if override, ok := o[p.Name]; ok && override.Value.Equal(p.Value) {
				o[p.Name] = Override{Value: p.Value, Source: source}
			}
		}
	}
}

// Matches says whether a name from a parameter file means the node with this fully qualified name. In the pattern * is
// one part of a name and ** any number of them; a pattern without a slash at its start is seen from the root.
func Matches(pattern, node string) bool {
	return matches(parts(pattern), parts(node))
}

func parts(name string) []string {
	name = strings.TrimPrefix(name, "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

func matches(pattern, name []string) bool {
	for i, part := range pattern {
		switch {
		case part == "**":
			for skip := i; skip <= len(name); skip++ {
				if matches(pattern[i+1:], name[skip:]) {
					return true
				}
			}
			return false
		case i >= len(name) || part != "*" && part != name[i]:
			return false
		}
	}
	return len(pattern) == len(name)
}
