package definition

import (
	"fmt"
	"slices"
	"strings"

	"rosbagd/storage"
)

// Check says why a joined text is no definition of typ: types are missing in it, or it can not be parsed. Of IDL the
// parts are looked at, and how they hang together, not each declaration.
func Check(typ string, d storage.Definition) error {
	switch d.Encoding {
	case "ros2msg":
		_, _, err := Describe(typ, d)
		return err
	case "ros2idl":
		return checkIDL(typ, d.Text)
	}
	return fmt.Errorf("its encoding %q is not known", d.Encoding)
}

// checkIDL finds the root, every included part and balanced brackets.
func checkIDL(typ, text string) error {
	root, err := parseTypeName(typ)
	if err != nil {
		return err
	}
	if len(text) > maxText {
		return errLong
	}
	parts := map[typeName]string{}
	for i, part := range strings.Split("\n"+text, "\n"+separator) {
		header, body, _ := strings.Cut(part, "\n")
		_, name, named := strings.Cut(strings.TrimSpace(header), ": ")
		t, err := parseTypeName(name)
		switch {
		case i == 0 && strings.TrimSpace(part) != "":
			t, body = idlFile(root), part // a root without a header of its own
		case i == 0:
			continue
		case !named || err != nil:
			return fmt.Errorf("%q is no header of a part", header)
		}
		parts[t] = body
	}
	if len(parts) > maxTypes {
		return errManyTypes
	}
	rootFile := idlFile(root)
	if _, ok := parts[rootFile]; !ok {
		return fmt.Errorf("the definition lacks %s", rootFile)
	}
	for t, body := range parts {
		if err := balanced(body); err != nil {
			return fmt.Errorf("read %s: %w", t, err)
		}
		for _, ref := range idlReferences(body) {
			if _, ok := parts[ref]; !ok {
				return fmt.Errorf("the definition lacks %s, which %s includes", ref, t)
			}
		}
	}
	if words := strings.Fields(parts[rootFile]); !slices.Contains(words, "struct") {
		return fmt.Errorf("read %s: there is no struct in it", rootFile)
	}
	return nil
}

// balanced compares brackets outside of texts and comments.
func balanced(text string) error {
	pairs := map[byte]byte{'}': '{', ')': '(', ']': '['}
	var open []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '(', '[':
			open = append(open, c)
		case '}', ')', ']':
			if len(open) == 0 || open[len(open)-1] != pairs[c] {
				return fmt.Errorf("%q closes nothing", string(c))
			}
			open = open[:len(open)-1]
		case '"':
			end := closing(text[i+1:])
			if end < 0 {
				return fmt.Errorf("a text is not closed")
			}
			i += end + 1
		case '/':
			i += comment(text[i:])
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%q is not closed", string(open[len(open)-1]))
	}
	return nil
}

// closing is where the quote stands that ends a text.
func closing(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// comment is how much of a text a comment at its start takes, less one; 0 when there is none.
func comment(text string) int {
	var end int
	switch {
	case strings.HasPrefix(text, "//"):
		end = strings.IndexByte(text, '\n')
	case strings.HasPrefix(text, "/*"):
		if end = strings.Index(text[2:], "*/"); end >= 0 {
			end += 3
		}
	default:
		return 0
	}
	if end < 0 {
		end = len(text) - 1
	}
	return end
}
