package world

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/world/nodes"
	"github.com/mycompany/podmanager/pkg/world/users"
)

// Digest returns a plan as text, in the order of the plan.
func Digest(decided plan.Plan) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, c := range decided.Create {
		add("create %d %s %d", c.Index, c.Revision.Hash, c.FailuresBefore)
	}
	for _, d := range decided.Delete {
		add("delete %s: %s", d.Pod.Name, d.Why)
	}
	for _, c := range decided.Update {
		to := ""
		if c.To != nil {
			to = c.To.Hash
		}
		add("%s %s %s", c.Step, c.Pod.Name, to)
	}
	for _, list := range []struct {
		verb string
		pods []*corev1.Pod
	}{{"adopt", decided.Adopt}, {"release", decided.Release}, {"annotate", decided.Annotate}} {
		for _, p := range list.pods {
			add("%s %s", list.verb, p.Name)
		}
	}
	for _, r := range decided.Drop {
		add("drop %s", r.Name)
	}
	for _, marked := range decided.Mark {
		add("mark %s failed %q good %q", marked.Name, marked.Annotations[v1.AnnotationFailed], marked.Annotations[v1.AnnotationGood])
	}
	for _, s := range decided.Store {
		add("store %s %d", s.Revision.Name, s.Revision.Revision)
	}
	if decided.Waiting != nil {
		add("waiting for %s", decided.Waiting.Pod.Name)
	}
	if decided.Blocked != nil {
		add("held")
	}
	if !decided.Again.Never() {
		add("again at %v because %s", decided.Again.At, decided.Again.Why)
	}
	return append(lines, decided.Foreign...)
}

// Describe returns the spec in one line.
func (w *World) Describe() string { return users.Describe(w.Manager) }

// DescribePods returns the pods in one line: for each pod its index, its revision, and "!" if it is unavailable, "~" if it is terminating, "+" if
// it is finished, "?" if it is blamed, "*" if it is marked for deletion, "|" if it is drained, "<" if its kubelet is behind.
func (w *World) DescribePods() string {
	var text strings.Builder
	for _, p := range w.Pods {
		fmt.Fprintf(&text, " %s:%s", strings.TrimPrefix(p.Name, w.Manager.Name+"-"), p.Labels[v1.LabelRevision])
		for i, set := range []bool{
			!w.isAvailable(p), p.DeletionTimestamp != nil, nodes.IsFinished(p), w.isBlamed(p), isMarkedForDeletion(p), isDrained(p), w.IsBehind(p),
		} {
			if set {
				text.WriteByte("!~+?*|<"[i])
			}
		}
	}
	return text.String()
}
