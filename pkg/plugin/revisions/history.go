package revisions

import (
	"cmp"
	"strconv"

	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// History returns a table of all revisions, newest first.
func History(s snapshot.Snapshot, style text.Style) []string {
	table := text.Table{Columns: []text.Column{
		{Title: "REVISION"}, {Title: "HASH", Drop: 2}, {Title: "AGE", Drop: 3}, {Title: "STATE"}, {Title: "PODS", Drop: 1},
		{Title: "IMAGES"}, {Title: "CHANGE-CAUSE", Drop: 4},
	}}
	for _, revision := range s.History() {
		number, age, pods := "<not stored>", "", "?"
		if revision.Number > 0 {
			number, age = strconv.FormatInt(revision.Number, 10), text.Age(revision.Created, s.Now)
		}
		if s.Reads("pods") {
			pods = strconv.Itoa(len(revision.Pods))
		}
		table.Add(text.Plainly(number), text.Plainly(revision.Hash), text.Plainly(age), text.Cell{Text: revision.Role(), Colour: colourOf(revision)},
			text.Plainly(pods), text.Plainly(snapshot.Images(revision.Template)), text.Plainly(cmp.Or(revision.Cause, "<none>")))
	}
	return table.Lines(style)
}

func colourOf(revision snapshot.Revision) text.Colour {
	colour := text.Plain
	for _, role := range revision.Roles {
		switch role {
		case "current":
			colour = text.Good
		case "new":
			colour = text.Notable
		case "failed":
			return text.Bad
		}
	}
	return colour
}
