package text

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// Cleaner is a writer that lets through what people read, and the colours of this package. Whatever else a terminal obeys is replaced: names,
// messages, warnings and errors come from others, and every path that prints them would have to remember to clean them.
func Cleaner(to io.Writer) io.Writer { return &cleaner{to: to} }

type cleaner struct {
	to io.Writer
	// rest is the begin of a character whose end comes with the next write.
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

// colourSize is how long the sequence at the begin of a text is, if it is one of Paint's; otherwise 0.
func colourSize(text []byte) int {
	for _, sequence := range sequences {
		if bytes.HasPrefix(text, sequence) {
			return len(sequence)
		}
	}
	return 0
}
