package tree

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// List returns a table with one line for each PodManager. It fits the width of the style.
func List(all []snapshot.Snapshot, withNamespace bool, style text.Style) []string {
	table := text.Table{Columns: []text.Column{
		{Title: "NAME"}, {Title: "STATE"}, {Title: "DESIRED", Drop: 3}, {Title: "UPDATED", Drop: 4}, {Title: "AVAILABLE", Drop: 2},
		{Title: "AGE", Drop: 5}, {Title: "IMAGES", Drop: 6}, {Title: "MESSAGE", Drop: 1},
	}}
	if withNamespace {
		table.Columns = append([]text.Column{{Title: "NAMESPACE"}}, table.Columns...)
	}
	for _, s := range all {
		row := rowOf(s)
		if withNamespace {
			row = append([]text.Cell{text.Plainly(s.Manager.Namespace)}, row...)
		}
		table.Add(row...)
	}
	return fit(table, style)
}

func rowOf(s snapshot.Snapshot) []text.Cell {
	manager, status := s.Manager, &s.Manager.Status
	state := stateCell(manager)
	if s.Condition(v1.ConditionMisconfigured).Status == metav1.ConditionTrue { // the header above a tree has the message
		state.Text += " (misconfigured)"
	}
	return []text.Cell{
		text.Plainly(manager.Name), state, count(int32(manager.DesiredReplicas())), count(status.UpdatedReplicas),
		count(status.AvailableReplicas), text.Plainly(text.Age(manager.CreationTimestamp.Time, s.Now)),
		text.Plainly(status.Image), text.Plainly(messageOf(manager)),
	}
}

func count(number int32) text.Cell { return text.Plainly(strconv.Itoa(int(number))) }

// messageOf returns a message for the list. It is empty if the rollout is done and no pod is leaving.
func messageOf(manager *v1.PodManager) string {
	if follow.OutcomeFor(manager) == follow.Done && manager.Status.LeavingReplicas == 0 {
		return ""
	}
	return follow.Message(manager)
}
