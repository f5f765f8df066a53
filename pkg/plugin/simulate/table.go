package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// fewest is the number of steps that a shortened table shows at its start and at its end.
const fewest = 20

// Lines formats the report. If all is true, a long table is not shortened.
func (r Report) Lines(style text.Style, all bool) []string {
	lines := r.header(style)
	lines = append(lines, "")
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(step Step) bool { return isPassing(step) && step.Seconds != r.Totals.Seconds })
	left := len(steps) - 2*fewest
	table := text.Table{Columns: []text.Column{{Title: "TIME"}, {Title: "OLD"}, {Title: "NEW"}, {Title: "AVAILABLE"}, {Title: "WHAT HAPPENS"}}}
	isLeaving := func(step Step) bool { return step.Leaving > 0 }
	if r.Drain != nil || slices.ContainsFunc(r.Steps, isLeaving) {
		table.Columns = slices.Insert(table.Columns, 3, text.Column{Title: "LEAVING"})
	}
	for i, step := range steps {
		switch {
		case all || left < 2 || i < fewest || i >= len(steps)-fewest:
			addStep(&table, step, style)
		case i == fewest:
			addLine(&table, text.Plainly("..."), text.Plainly(fmt.Sprintf("%d more steps; --all shows them", left)))
		}
	}
	lines = append(lines, table.Lines(style)...)
	return append(append(lines, ""), r.sums(style)...)
}

// isPassing reports whether the only events of a step are pods that are gone.
func isPassing(step Step) bool {
	return !slices.ContainsFunc(step.Events, func(event Event) bool { return event.Action != Gone })
}

func (r Report) header(style text.Style) []string {
	title := fmt.Sprintf("%s in namespace %s, simulated: nothing is written", r.Name, r.Namespace)
	if r.IsNew {
		title = fmt.Sprintf("%s, which does not exist yet, in namespace %s, simulated: nothing is written", r.Name, r.Namespace)
	}
	lines := text.Wrap(title, style.Width)
	for i := range lines {
		lines[i] = style.Paint(text.Bold, lines[i])
	}
	lines = append(lines, field("Change", r.describeChange(), style)...)
	lines = append(lines, field("Assumed", r.Assumed.sentence(), style)...)
	for _, note := range r.Notes {
		lines = append(lines, field("Note", note, style)...)
	}
	return lines
}

// field returns a line of the header, or several lines on a narrow terminal.
func field(title, value string, style text.Style) []string {
	const indent = 21
	width := style.Width - indent
	if style.Width == 0 {
		width = 0
	} else if width < indent {
		return text.Wrap(title+": "+value, style.Width)
	}
	var lines []string
	for i, line := range text.Wrap(value, width) {
		if i > 0 {
			title = ""
		} else {
			title += ":"
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-*s%s", indent, title, line), " "))
	}
	return lines
}

func (a Assumed) sentence() string {
	sentence := fmt.Sprintf("containers are ready %s after their start, and stop within %s", seconds(a.ReadyAfterSeconds), seconds(a.StopAfterSeconds))
	if len(a.Fail) > 0 {
		sentence += "; " + enumerate(a.Fail) + plural(len(a.Fail), " crashes", " crash") + " instead"
	}
	if len(a.NeverReady) > 0 {
		sentence += "; " + enumerate(a.NeverReady) + plural(len(a.NeverReady), " is", " are") + " never ready"
	}
	return sentence
}

// addStep adds a step to the table. Text that does not fit continues on the next line.
func addStep(table *text.Table, step Step, style text.Style) {
	what := text.Plainly(describeEvents(step.Events))
	width, hasLeaving := 0, len(table.Columns) > 5
	const taken, takenByLeaving, enough = 35, 10, 20
	if style.Width > 0 {
		width = style.Width - taken
		if hasLeaving {
			width -= takenByLeaving
		}
		width = max(enough, width)
	}
	for i, line := range text.Wrap(what.Text, width) {
		if i > 0 {
			addLine(table, text.Cell{}, text.Plainly(line))
			continue
		}
		at := seconds(step.Seconds)
		if step.Events[0].Action == Begins {
			at = "now"
		}
		counts := []text.Cell{number(step.Old), number(step.New), number(step.Available)}
		if hasLeaving {
			counts = slices.Insert(counts, 2, number(step.Leaving))
		}
		addLine(table, text.Plainly(at), text.Cell{Text: line, Colour: colourOf(step.Events)}, counts...)
	}
}

// addLine adds a line to the table from its first and last cell and the cells in between. Missing cells in between stay empty.
func addLine(table *text.Table, first, last text.Cell, between ...text.Cell) {
	row := make([]text.Cell, len(table.Columns))
	row[0], row[len(row)-1] = first, last
	copy(row[1:], between)
	table.Add(row...)
}

func number(n int) text.Cell { return text.Plainly(strconv.Itoa(n)) }

func colourOf(events []Event) text.Colour {
	for _, event := range events {
		switch event.Action {
		case Failing, GivenUp, Refused, DrainStops, v1.EventHalted, v1.EventRolledBack, v1.EventDeadline, v1.EventNotInPlace:
			return text.Bad
		case v1.EventCompleted, v1.EventPartition, Proven, DrainEnds:
			return text.Good
		}
	}
	return text.Plain
}

// sums returns the summary at the end of the report.
func (r Report) sums(style text.Style) []string {
	sentence, colour := r.Outcome.sentence()
	message, isBlocked := r.Message, r.Drain != nil && r.Drain.BlockedBy != ""
	if isBlocked && r.Outcome != DrainBlocked {
		message += "; the drain does not end"
	}
	var lines []string
	for i, line := range field("Outcome", sentence+r.Outcome.separator()+message, style) {
		if i == 0 {
			line = strings.Replace(line, sentence, style.Paint(colour, sentence), 1)
		}
		lines = append(lines, line)
	}
	duration := seconds(r.Totals.Seconds)
	if at := r.Totals.ProvenAtSeconds; at != nil && *at > r.Totals.Seconds {
		revision := "the new revision"
		if len(r.Change.Fields) == 0 && !r.IsNew {
			revision = "the revision"
		}
		duration += ", and " + revision + " has proven itself after " + seconds(*at)
	}
	if isBlocked {
		duration += ", then nothing more happens: the drain does not end"
	}
	lines = append(lines, field("Duration", duration, style)...)
	lowest := fmt.Sprintf("%d of %s wanted, after %s", r.Totals.LowestAvailable, pods(r.Replicas), seconds(r.Totals.LowestAtSeconds))
	if r.Totals.LowestAvailable >= r.Replicas {
		lowest = fmt.Sprintf("%d, never below the %d wanted", r.Totals.LowestAvailable, r.Replicas)
	}
	lines = append(lines, field("Lowest availability", lowest, style)...)
	most := strconv.Itoa(r.Totals.MostPods)
	if r.Totals.MostWithTerminating > r.Totals.MostPods {
		most += fmt.Sprintf(", or %d with those that are terminating", r.Totals.MostWithTerminating)
	}
	lines = append(lines, field("Most pods", most, style)...)
	if r.Drain != nil {
		lines = append(lines, field("Drain", r.Drain.sentence(), style)...)
	}
	return append(lines, field("Pods", fmt.Sprintf("%d created, %d deleted, %d updated in place", r.Totals.Created, r.Totals.Deleted, r.Totals.UpdatedInPlace), style)...)
}

// sentence says how a drain ends.
func (d *DrainReport) sentence() string {
	all := enumerate(d.Nodes)
	switch {
	case d.BlockedBy != "":
		return fmt.Sprintf("of %s: does not end; %s", all, d.BlockedBy)
	case d.Evicted == 0:
		return fmt.Sprintf("of %s: nothing to evict", all)
	default:
		return fmt.Sprintf("of %s: ends after %s, with %s evicted", all, seconds(d.Seconds), pods(d.Evicted))
	}
}
