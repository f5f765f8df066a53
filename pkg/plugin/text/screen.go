package text

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// IsTerminal tells whether a person looks at what is written there.
func IsTerminal(out io.Writer) bool {
	file, isFile := out.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// Size is the number of columns and lines of a terminal; zero if it is none, or does not say.
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

// Screen shows a picture that changes, at the end of what is on a terminal.
type Screen struct {
	Out io.Writer
	// drawn is how many lines the last picture had, columns and lines the size of the terminal then.
	drawn          int
	columns, lines int
}

// Draw replaces the last picture. What does not fit is left out, and the last line says how much: a picture that scrolls could not be
// replaced. The lines must not be longer than the terminal is wide.
func (s *Screen) Draw(picture []string, columns, lines int) error {
	if lines > 1 && len(picture) > lines-1 {
		more := len(picture) - (lines - 2)
		picture = append(append([]string{}, picture[:lines-2]...), Cut(fmt.Sprintf("... %d more lines", more), columns))
	}
	var out strings.Builder
	switch {
	case s.drawn > 0 && (columns != s.columns || lines != s.lines):
		out.WriteString("\x1b[H\x1b[2J") // the terminal has wrapped the old lines anew, so nobody knows how many there are
	case s.drawn > 0:
		fmt.Fprintf(&out, "\x1b[%dA\r\x1b[J", s.drawn)
	}
	out.WriteString(Join(picture))
	s.drawn, s.columns, s.lines = len(picture), columns, lines
	_, err := io.WriteString(s.Out, out.String())
	return err
}
