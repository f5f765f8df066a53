package text

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	file, isFile := out.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// Size returns the number of columns and lines of a terminal. Both are zero if out is not a terminal or its size is unknown.
func Size(out io.Writer) (columns, lines int) {
	file, isFile := out.(*os.File)
	if !isFile {
		return 0, 0
	}
	columns, lines, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// Screen redraws changing text at the bottom of a terminal.
type Screen struct {
	Out io.Writer
	// drawn is the number of lines drawn last. columns and lines are the size of the terminal at that time.
	drawn          int
	columns, lines int
}

// Draw replaces the text drawn last. Lines that do not fit are omitted, and the last line gives their number: text that has scrolled could not be
// replaced. No line may be longer than the terminal is wide.
func (s *Screen) Draw(picture []string, columns, lines int) error {
	if lines > 1 && len(picture) > lines-1 {
		more := len(picture) - (lines - 2)
		picture = append(append([]string{}, picture[:lines-2]...), Cut(fmt.Sprintf("... %d more lines", more), columns))
	}
	var out strings.Builder
	switch {
	case s.drawn > 0 && (columns != s.columns || lines != s.lines):
		out.WriteString("\x1b[H\x1b[2J") // a resized terminal rewraps the old lines, so their number is unknown
	case s.drawn > 0:
		fmt.Fprintf(&out, "\x1b[%dA\r\x1b[J", s.drawn)
	}
	out.WriteString(Join(picture))
	s.drawn, s.columns, s.lines = len(picture), columns, lines
	_, err := io.WriteString(s.Out, out.String())
	return err
}
