package mutants

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// change replaces lines of a file.
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
		case file == "" && strings.HasPrefix(content, "# Simulation: "):
			m.readSimulation(strings.TrimPrefix(content, "# Simulation: "))
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
	if m.About == "" || m.IsSimulated() == (m.Unsimulated != "") || !m.IsSimulated() && len(m.Scenarios) == 0 || len(m.changes) == 0 {
		return Mutant{}, fmt.Errorf("%s.patch needs a sentence about it, what the simulation does with it, a scenario if that is nothing, and a change", name)
	}
	return m, nil
}

// readSimulation reads the Simulation line of the head: a seed, a package and a test, or why there is none.
func (m *Mutant) readSimulation(text string) {
	switch first, rest, _ := strings.Cut(text, " "); first {
	case "seed":
		m.Seed, _ = strconv.ParseUint(rest, 10, 64) // without a number it is not simulated
	case "no,":
		m.Unsimulated = rest
	default:
		m.Package, m.Test = first, rest
	}
}

// add adds a line of a hunk. An editor may have removed the space of an empty line.
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
