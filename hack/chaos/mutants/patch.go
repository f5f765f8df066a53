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
	head, diff := text, ""
	if at := strings.Index(text, "diff --git "); at >= 0 {
		head, diff = text[:at], text[at:]
	}
	for line := range strings.Lines(head) {
		m.readHead(strings.TrimSpace(line))
	}
	m.changes = readDiff(diff)
	hasPurpose := m.IsSimulated() || len(m.Scenarios) > 0
	if m.About == "" || m.IsSimulated() == (m.Unsimulated != "") || !hasPurpose || len(m.changes) == 0 {
		return Mutant{}, fmt.Errorf("%s.patch needs a sentence about what is broken, a Simulation line, a scenario if no simulation catches it, and a change", name)
	}
	return m, nil
}

// readHead reads a line of the head.
func (m *Mutant) readHead(line string) {
	text, isComment := strings.CutPrefix(line, "# ")
	if !isComment {
		return
	}
	switch label, rest, _ := strings.Cut(text, ": "); label {
	case "Scenarios":
		for _, each := range strings.Split(rest, ", ") {
			scenario, invariant, _ := strings.Cut(each, ":")
			m.Scenarios[scenario] = cmp.Or(invariant, AnyInvariant)
		}
	case "Simulation":
		m.readSimulation(rest)
	default:
		m.About = strings.TrimSpace(m.About + " " + text)
	}
}

// readDiff returns the changes of a diff, one for each hunk.
func readDiff(text string) (changes []change) {
	var hunk *change
	file := ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			hunk = nil
		case hunk == nil && strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimSuffix(strings.TrimPrefix(line, "+++ b/"), "\n")
		case file != "" && strings.HasPrefix(line, "@@"):
			changes = append(changes, change{file: file})
			hunk = &changes[len(changes)-1]
		case hunk != nil:
			hunk.add(line)
		}
	}
	return changes
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
