package mutants

import (
	"cmp"
	"fmt"
	"strings"
)

// change replaces lines of a file by others.
type change struct{ file, before, after string }

// parse reads a patch with its head.
func parse(name, text string) (Mutant, error) {
	m := Mutant{Name: name, Scenarios: map[string]string{}}
	var hunk *change
	file := ""
	for line := range strings.Lines(text) {
		content := strings.TrimSuffix(line, "\n")
		switch {
		case file == "" && strings.HasPrefix(content, "# Scenarios: "):
			for _, each := range strings.Split(strings.TrimPrefix(content, "# Scenarios: "), ", ") {
				scenario, invariant, _ := strings.Cut(each, ":")
				m.Scenarios[scenario] = cmp.Or(invariant, AnyInvariant)
			}
		case file == "" && strings.HasPrefix(content, "# "):
			m.About = strings.TrimSpace(m.About + " " + strings.TrimPrefix(content, "# "))
		case strings.HasPrefix(content, "diff --git "):
			hunk = nil
		case hunk == nil && strings.HasPrefix(content, "+++ b/"):
			file = strings.TrimPrefix(content, "+++ b/")
		case file != "" && strings.HasPrefix(content, "@@"):
			m.changes = append(m.changes, change{file: file})
			hunk = &m.changes[len(m.changes)-1]
		case hunk != nil:
			hunk.add(line)
		}
	}
	if m.About == "" || len(m.Scenarios) == 0 || len(m.changes) == 0 {
		return Mutant{}, fmt.Errorf("%s.patch needs a sentence about it, its scenarios, and a change", name)
	}
	return m, nil
}

// add adds a line of a hunk. An editor may have removed the blank of an empty line.
func (c *change) add(line string) {
	switch mark, rest := line[0], line[1:]; mark {
	case '-':
		c.before += rest
	case '+':
		c.after += rest
	case ' ':
		c.before += rest
		c.after += rest
	case '\n':
		c.before += line
		c.after += line
	}
}
