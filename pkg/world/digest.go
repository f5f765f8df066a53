package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan"
)

// Digest is a plan as text, in its own order.
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
	}{{"adopt", decided.Adopt}, {"release", decided.Release}} {
		for _, p := range list.pods {
			add("%s %s", list.verb, p.Name)
		}
	}
	for _, r := range decided.Drop {
		add("drop %s", r.Name)
	}
	for _, s := range decided.Store {
		add("store %s %d", s.Revision.Name, s.Revision.Revision)
	}
	if decided.Waiting != nil {
		add("waiting for %s", decided.Waiting.Pod.Name)
	}
	if decided.Held != nil {
		add("held")
	}
	if !decided.Again.Never() {
		add("again at %v because %s", decided.Again.At, decided.Again.Why)
	}
	return append(lines, decided.Foreign...)
}
