package tree

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Draw returns the header and the tree of one PodManager. They fit the width of the style.
func Draw(s snapshot.Snapshot, style text.Style) []string {
	lines := header(s, style)
	lines = append(lines, "")
	table := text.Table{Columns: []text.Column{
		{Title: "NAME"}, {Title: "STATE"}, {Title: "READY", Drop: 2}, {Title: "RESTARTS", Drop: 3}, {Title: "AGE", Drop: 4},
		{Title: "NODE", Drop: 5}, {Title: "DETAIL", Drop: 1},
	}}
	manager := s.Manager
	table.Add(text.Cell{Text: manager.Name, Colour: text.Bold}, stateCell(manager),
		text.Plainly(fmt.Sprintf("%d/%d", manager.Status.ReadyReplicas, manager.DesiredReplicas())),
		text.Cell{}, text.Plainly(text.Age(manager.CreationTimestamp.Time, s.Now)))
	addRevisions(&table, s)
	return append(lines, fit(table, style)...)
}

// fit shortens the last column first, so that the table drops it only if that is not enough: a shortened sentence is better than none.
func fit(table text.Table, style text.Style) []string {
	last := len(table.Columns) - 1
	const enough = 20 // characters of a detail that are still worth showing
	for row := range table.Rows {
		if len(table.Rows[row]) <= last || style.Width == 0 {
			continue
		}
		table.Rows[row][last].Text = text.Cut(table.Rows[row][last].Text, max(enough, style.Width-60))
	}
	return table.Lines(style)
}

func addRevisions(table *text.Table, s snapshot.Snapshot) {
	var shown []snapshot.Revision
	for _, revision := range s.History() {
		if len(revision.Pods) > 0 || len(revision.Roles) > 0 {
			shown = append(shown, revision)
		}
	}
	state := s.Rollout()
	for i, revision := range shown {
		branch, stem := "├─ ", "│  "
		if i == len(shown)-1 {
			branch, stem = "└─ ", "   "
		}
		name := branch + revision.Title()
		if role := revision.Role(); role != "" {
			name += " (" + role + ")"
		}
		detail := snapshot.Images(revision.Template)
		if s.Reads("pods") {
			count, kept := revision.Count()
			detail = strings.TrimPrefix(detail+", ", ", ") + plural(count, "pod")
			if kept > 0 {
				detail += fmt.Sprintf(", %d finished", kept)
			}
		}
		table.Add(text.Plainly(name), text.Cell{}, text.Cell{}, text.Cell{}, text.Plainly(ageOf(revision, s)), text.Cell{},
			text.Cell{Text: detail, Colour: text.Faint})
		for j, pod := range revision.Pods {
			twig := "├─ "
			if j == len(revision.Pods)-1 {
				twig = "└─ "
			}
			addPod(table, stem+twig, pod, s, state)
		}
	}
}

func ageOf(revision snapshot.Revision, s snapshot.Snapshot) string {
	if revision.Created.IsZero() {
		return ""
	}
	return text.Age(revision.Created, s.Now)
}

func addPod(table *text.Table, prefix string, pod *corev1.Pod, s snapshot.Snapshot, state *rollout.State) {
	is := s.StateOf(pod, state)
	node := pod.Spec.NodeName
	if node == "" {
		node = "<none>"
	}
	table.Add(text.Plainly(prefix+pod.Name), text.Cell{Text: is.Word, Colour: colourOf(is.Word)}, text.Plainly(snapshot.ReadyContainers(pod)),
		text.Plainly(strconv.Itoa(int(podstate.MostRestarts(pod)))), text.Plainly(text.Age(pod.CreationTimestamp.Time, s.Now)),
		text.Plainly(node), text.Plainly(is.Detail))
}

func colourOf(word string) text.Colour {
	switch word {
	case snapshot.Available:
		return text.Good
	case snapshot.Failing, string(corev1.PodFailed):
		return text.Bad
	case snapshot.Terminating:
		return text.Faint
	default:
		return text.Notable
	}
}

// stateCell returns the state of the PodManager in one word. If the PodManager is paused, and the reason of Ready is not the pause, stateCell adds
// "(paused)": no pod waits now, but the next change would not be rolled out.
func stateCell(manager *v1.PodManager) text.Cell {
	colours := map[follow.Outcome]text.Colour{
		follow.Done: text.Good, follow.Baking: text.Good, follow.Failed: text.Bad, follow.Held: text.Notable, follow.UnderWay: text.Notable, follow.Deleted: text.Faint,
	}
	cell := text.Cell{Text: follow.Reason(manager), Colour: colours[follow.OutcomeFor(manager)]}
	if manager.Spec.Paused && cell.Text != v1.ReasonPaused && manager.DeletionTimestamp == nil {
		cell.Text += " (paused)"
	}
	return cell
}

// header returns the lines above the tree.
func header(s snapshot.Snapshot, style text.Style) []string {
	manager, status := s.Manager, &s.Manager.Status
	var lines []string
	say := func(title, value string, colour text.Colour) {
		const column = 12
		width := 0
		if style.Width > 0 {
			width = max(1, style.Width-column)
		}
		for i, line := range text.Wrap(value, width) {
			if i > 0 {
				title = ""
			}
			head := fmt.Sprintf("%-*s", column, title)
			if style.Width > 0 {
				head = text.Cut(head, max(0, style.Width-1))
				line = text.Cut(line, style.Width-len([]rune(head)))
			}
			lines = append(lines, strings.TrimRight(head+style.Paint(colour, line), " "))
		}
	}
	say("Name:", manager.Name, text.Bold)
	say("Namespace:", manager.Namespace, text.Plain)
	cell := stateCell(manager)
	say("Status:", cell.Text, cell.Colour)
	if message := s.Message(); message != "" {
		say("Message:", message, text.Plain)
	}
	if wrong := s.Condition(v1.ConditionMisconfigured); wrong.Status == metav1.ConditionTrue {
		say("Warning:", fmt.Sprintf("%s: %s: %s", wrong.Type, wrong.Reason, wrong.Message), text.Notable)
	}
	say("Strategy:", strategy(manager), text.Plain)
	say("On failure:", failurePolicy(manager), text.Plain)
	say("Images:", images(s), text.Plain)
	counts := fmt.Sprintf("%d wanted, %d exist, %d updated, %d ready, %d available, %d terminating", manager.DesiredReplicas(),
		status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas, status.TerminatingReplicas)
	if status.LeavingReplicas > 0 {
		counts += fmt.Sprintf(", %d leaving", status.LeavingReplicas)
	}
	say("Pods:", counts, text.Plain)
	if len(s.Missing) > 0 {
		say("Not shown:", "you may not read "+strings.Join(s.Missing, " and ")+" in this namespace", text.Notable)
	}
	return lines
}

// strategy describes the update strategy in one line.
func strategy(manager *v1.PodManager) string {
	kind := string(manager.Strategy())
	if manager.Strategy() == v1.RollingUpdateStrategy {
		kind += fmt.Sprintf(", at most %s more and %d unavailable", plural(manager.MaxSurge(), "pod"), manager.MaxUnavailable())
		if limits := manager.Spec.UpdateStrategy.RollingUpdate; limits != nil {
			if partition := ptr.Deref(limits.Partition, intstr.FromInt32(0)); partition.String() != "0" {
				kind += ", partition " + partition.String()
			}
		}
		if policy := manager.PodUpdatePolicy(); policy != v1.RecreatePods {
			kind += ", " + string(policy)
		}
	}
	if manager.Spec.Paused {
		kind += ", paused"
	}
	return kind
}

func failurePolicy(manager *v1.PodManager) string {
	if manager.OnFailure() == v1.ContinueOnFailure {
		return string(v1.ContinueOnFailure)
	}
	return fmt.Sprintf("%s at %s, %v to recover", manager.OnFailure(), plural(manager.FailureThreshold(), "failed pod"), manager.FailureGrace())
}

// images returns the images of the new revision and, during a rollout, of the current one.
func images(s snapshot.Snapshot) string {
	known := s.Revisions()
	shown := snapshot.Images(known.Update.Template())
	if known.Current != nil && known.Current != known.Update {
		if current := snapshot.Images(known.Current.Template()); current != shown {
			return shown + " (new), " + current + " (current)"
		}
	}
	return shown
}

// plural formats a count: 1 pod, 2 pods.
func plural(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}
