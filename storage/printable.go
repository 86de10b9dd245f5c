package storage

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable keeps names from files and graphs from writing lines and colours of their own on a terminal, and from
// turning what stands beside them around.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// unprintable tells what a terminal, or the one who reads from it, could take for more than a letter.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// PrintableJSON is for a document that encoding/json has made, which leaves most of these characters as they are: it
// escapes them, so that the document says the same.
func PrintableJSON(document []byte) []byte {
	escaped := func(r rune) bool { return r >= 0x7f && unprintable(r) }
	if !bytes.ContainsFunc(document, escaped) {
		return document
	}
	var out []byte
	for len(document) > 0 {
		r, n := utf8.DecodeRune(document)
		if escaped(r) {
			out = fmt.Appendf(out, `\u%04x`, r) // all of them are in the basic plane
		} else {
			out = append(out, document[:n]...)
		}
		document = document[n:]
	}
	return out
}
