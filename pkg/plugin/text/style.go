package text

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Colour is the meaning of a text. Style decides how it looks.
type Colour int

// The colours.
const (
	Plain Colour = iota
	Good
	Bad
	Notable
	Faint
	Bold
)

// codes are the ECMA-48 codes, which every terminal understands.
var codes = map[Colour]string{Good: "32", Bad: "31", Notable: "33", Faint: "2", Bold: "1"}

// Style defines how text is shown.
type Style struct {
	// Coloured allows escape sequences.
	Coloured bool
	// Width is the number of columns of the terminal. It is 0 if the length of a line is not limited.
	Width int
}

// Paint colours a text.
func (s Style) Paint(colour Colour, text string) string {
	if !s.Coloured || colour == Plain || text == "" {
		return text
	}
	return sequence(codes[colour]) + text + sequence(reset)
}

const reset = "0"

func sequence(code string) string { return "\x1b[" + code + "m" }

// sequences are all escape sequences that Paint writes.
var sequences = func() [][]byte {
	all := [][]byte{[]byte(sequence(reset))}
	for _, code := range codes {
		all = append(all, []byte(sequence(code)))
	}
	return all
}()

// UsesColour reports whether to use colours. The --color flag (auto, always or never) comes first, then NO_COLOR, then the type of the terminal.
func UsesColour(flag string, getenv func(string) string, isTerminal bool) (bool, error) {
	switch flag {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return isTerminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	default:
		return false, fmt.Errorf("--color is %q; use auto, always or never", flag)
	}
}

// Cut shortens a text to width characters, the last of which is then an ellipsis. The text must not be coloured yet.
func Cut(text string, width int) string {
	text = Clean(text)
	runes := []rune(text)
	switch {
	case len(runes) <= width:
		return text
	case width <= 0:
		return ""
	default:
		return string(runes[:width-1]) + "…"
	}
}

// Wrap breaks a text at blanks into lines of at most width characters. If width is 0, the text stays on one line.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(Clean(text)) {
		switch {
		case line == "":
			line = word
		case width <= 0 || len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	lines = append(lines, line)
	if width > 0 {
		for i := range lines {
			lines[i] = Cut(lines[i], width)
		}
	}
	return lines
}

// Age returns the time since then, in the format of kubectl.
func Age(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}
