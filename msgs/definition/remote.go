package definition

import (
	"fmt"
	"strings"

	"rosbagd/storage"
)

// FromDescription makes the joined text of a type that another node has described. The texts in sources are used where
// they are there and say the same as the description; the rest is written out of the description, which has neither
// constants nor comments. Both may come from anybody: what can not be a type is an error.
func FromDescription(d Description, sources []Source) (storage.Definition, error) {
	root, err := parseTypeName(d.Type.Name)
	if err != nil {
		return storage.Definition{}, err
	}
	described := map[typeName]Type{root: d.Type}
	for _, t := range d.Referenced {
		name, err := parseTypeName(t.Name)
		if err != nil {
			return storage.Definition{}, err
		}
		described[name] = t
	}
	texts := map[typeName]string{}
	for _, s := range sources {
		if name, err := parseTypeName(s.TypeName); err == nil && s.Encoding == "msg" && !strings.Contains("\n"+s.Text, "\n"+separator) {
			texts[name] = ended(s.Text)
		}
	}
	made, err := joinDescribed(root, described, texts)
	if err == nil {
		again, _, describeErr := Describe(d.Type.Name, made)
		if describeErr == nil && again.Hash() == d.Hash() {
			return made, nil
		}
	}
	made, err = joinDescribed(root, described, nil)
	if err != nil {
		return storage.Definition{}, fmt.Errorf("write definition of %s: %w", d.Type.Name, err)
	}
	if again, _, err := Describe(d.Type.Name, made); err != nil || again.Hash() != d.Hash() {
		return storage.Definition{}, fmt.Errorf("write definition of %s: its description is not one of a message", d.Type.Name)
	}
	return made, nil
}

// ended gives the last line its end back, which the generators of ROS leave out.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func joinDescribed(root typeName, described map[typeName]Type, texts map[typeName]string) (storage.Definition, error) {
	text, err := join(root, func(t typeName) (part, error) {
		typ, ok := described[t]
		if !ok {
			return part{}, fmt.Errorf("its description lacks %s", t)
		}
		p := part{header: "MSG: " + t.short(), text: texts[t]}
		for _, f := range typ.Fields {
			if f.Type.Nested == "" {
				continue
			}
			ref, err := parseTypeName(f.Type.Nested)
			if err != nil {
				return part{}, err
			}
			p.uses = append(p.uses, ref)
		}
		p.uses = sortedOnce(p.uses)
		if _, has := texts[t]; has {
			return p, nil
		}
		var err error
		p.text, err = typ.text()
		return p, err
	}, false)
	return storage.Definition{Encoding: "ros2msg", Text: text}, err
}

// text writes the fields of t in the .msg grammar.
func (t Type) text() (string, error) {
	if len(t.Fields) == 1 && t.Fields[0].Name == emptyField.Name {
		return "", nil
	}
	var b strings.Builder
	for _, f := range t.Fields {
		word, ok := f.Type.word()
		if !ok {
			return "", fmt.Errorf("%s has a field of type %d, for which there is no word", t.Name, f.Type.ID)
		}
		if !isIdentifier(f.Name) {
			return "", fmt.Errorf("%s has a field %q", t.Name, f.Name)
		}
		fmt.Fprintf(&b, "%s %s\n", word, f.Name)
	}
	return b.String(), nil
}
