package definition

import (
	"fmt"
	"strconv"
	"strings"
)

// defaultValue gives the default that stands behind a field's name in the form that type descriptions have, which is
// that of Python. What can not be read is given as it stands: it is not part of the hash, and not on the wire.
func defaultValue(typ FieldType, text string) string {
	id, list := typ.ID, false
	for _, kind := range []uint8{sequence, boundedSequence, arrayOf} {
		if id > kind {
			id, list = id-kind, true
			break
		}
	}
	if id > wstringID {
		id -= boundedString
	}
	tokens, inBrackets := tokens(text)
	if len(tokens) == 0 && !inBrackets {
		return ""
	}
	if !list {
		if id == stringID || id == wstringID {
			if tokens[0].quoted {
				return tokens[0].text
			}
			return unquoted(text)
		}
		return scalar(id, tokens[0].text)
	}
	values := make([]string, len(tokens))
	for i, t := range tokens {
		if id == stringID || id == wstringID {
			values[i] = quotedLikePython(t.text)
		} else {
			values[i] = scalar(id, t.text)
		}
	}
	if len(values) == 1 {
		return "(" + values[0] + ",)"
	}
	return "(" + strings.Join(values, ", ") + ")"
}

type token struct {
	text   string
	quoted bool
}

// tokens cuts a default into its values, up to a comment, and says whether they stand in brackets.
func tokens(text string) (found []token, inBrackets bool) {
	text, inBrackets = strings.CutPrefix(text, "[")
	for text = strings.TrimLeft(text, ", \t"); text != "" && text[0] != '#' && text[0] != ']'; text = strings.TrimLeft(text, ", \t") {
		if quote := text[0]; quote == '"' || quote == '\'' {
			value, rest, closed := cutQuoted(text[1:], quote)
			if closed {
				found = append(found, token{value, true})
				text = rest
				continue
			}
		}
		end := strings.IndexAny(text, ",] \t#")
		if end < 0 {
			end = len(text)
		}
		found = append(found, token{text[:max(end, 1)], false})
		text = text[max(end, 1):]
	}
	return found, inBrackets
}

// cutQuoted takes a string up to its closing quote; a backslash stands before a quote that is part of it.
func cutQuoted(text string, quote byte) (value, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\'' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", false
}

// unquoted is a string without quotes: all up to a comment.
func unquoted(text string) string {
	text, _, _ = strings.Cut(text, "#")
	return strings.TrimSpace(text)
}

func scalar(id uint8, text string) string {
	switch id {
	case fieldTypes["bool"]:
		switch strings.ToLower(text) {
		case "true", "1":
			return "True"
		case "false", "0":
			return "False"
		}
	case fieldTypes["float32"], fieldTypes["float64"]:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return floatLikePython(f)
		}
	default:
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			return strconv.FormatUint(n, 10)
		}
	}
	return text
}

// floatLikePython writes the shortest digits, with an exponent where Python has one.
func floatLikePython(f float64) string {
	text := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if n, err := strconv.Atoi(exponent); err != nil || n < -4 || n >= 16 {
		return text
	}
	text = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func quotedLikePython(text string) string {
	quote := "'"
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = `"`
	}
	text = strings.ReplaceAll(text, `\`, `\\`)
	if quote == "'" {
		text = strings.ReplaceAll(text, "'", `\'`)
	}
	return fmt.Sprintf("%s%s%s", quote, text, quote)
}
