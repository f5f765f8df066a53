package text

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean replaces each control character with one printable character. A container writes its own termination message, which must not move the
// cursor or rename the window when a user prints it.
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

// OneLine returns a clean text without leading, trailing or repeated blanks.
func OneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Cleaner returns a writer that passes printable text and the colours of this package, and replaces all other control characters. Names,
// messages, warnings and errors come from other clients. Cleaning them in the writer means that no print statement can forget to do it.
func Cleaner(to io.Writer) io.Writer { return &cleaner{to: to} }

type cleaner struct {
	to io.Writer
	// rest is the start of a character whose remaining bytes come with the next write.
	rest []byte
}

func (c *cleaner) Write(data []byte) (int, error) {
	all := append(c.rest, data...)
	c.rest = nil
	clean := make([]byte, 0, len(all))
	for len(all) > 0 {
		if !utf8.FullRune(all) {
			c.rest = slices.Clone(all)
			break
		}
		if size := colourSize(all); size > 0 {
			clean, all = append(clean, all[:size]...), all[size:]
			continue
		}
		r, size := utf8.DecodeRune(all)
		all = all[size:]
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			r = unicode.ReplacementChar
		}
		clean = utf8.AppendRune(clean, r)
	}
	if _, err := c.to.Write(clean); err != nil {
		return 0, err
	}
	return len(data), nil
}

// colourSize returns the length of the colour sequence that text starts with, or 0 if text does not start with one of Paint's sequences.
func colourSize(text []byte) int {
	for _, sequence := range sequences {
		if bytes.HasPrefix(text, sequence) {
			return len(sequence)
		}
	}
	return 0
}
