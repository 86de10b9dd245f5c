package storage

import (
	"strings"
	"unicode"
)

// Printable keeps names from files and graphs from writing lines and colours of their own on a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
