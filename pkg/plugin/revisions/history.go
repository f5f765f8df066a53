package revisions

import (
	"cmp"
	"strconv"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/status"
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
			count, _ := revision.Count()
			pods = strconv.Itoa(count)
		}
		table.Add(text.Plainly(number), text.Plainly(revision.Hash), text.Plainly(age), text.Cell{Text: stateOf(s, revision), Colour: colourOf(revision)},
			text.Plainly(pods), text.Plainly(snapshot.Images(revision.Template)), text.Plainly(cmp.Or(revision.Cause, "<none>")))
	}
	return table.Lines(style)
}

// stateOf returns the roles of a revision, and whether its rollout has halted or, for an old revision, was never completed.
func stateOf(s snapshot.Snapshot, revision snapshot.Revision) string {
	isHalted := status.ReadyReason(&s.Manager.Status) == v1.ReasonHalted && revision.Name == s.Manager.Status.UpdateRevision
	switch state := revision.Role(); {
	case isHalted && !revision.Failed:
		return state + ", halted"
	case state == "" && revision.Number > 0 && !revision.Good:
		return "not completed"
	default:
		return state
	}
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
