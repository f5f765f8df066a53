package text

import (
	"strings"
	"unicode"
)

// Clean replaces what a terminal obeys instead of showing it, one character for one. A container writes its own termination message: it must
// not move the cursor, or rename the window, of whoever asks why it has ended.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}

// OneLine is a clean text without leading, trailing and repeated blanks.
func OneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }
