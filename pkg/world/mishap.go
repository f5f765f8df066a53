package world

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// mishap makes something random go wrong with a pod, and reports whether a container has crashed.
func (w *World) mishap(p *corev1.Pod) (hasCrashed bool) {
	if p.DeletionTimestamp != nil || nodes.IsFinished(p) {
		return false
	}
	what := w.dice.IntN(18)
	switch {
	case what < 2:
		w.logf("%s: a user deletes the pod", p.Name)
		w.deletePod(p)
	case what == 2:
		w.logf("%s: a user marks the pod for deletion", p.Name)
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationDelete, "true")
	case what == 3 && w.chance(0.3):
		w.logf("%s: a user changes the label that makes the pod ours", p.Name)
		w.loseBlame(p)
		p.Labels[v1.LabelManager] = "debug"
	case p.Spec.NodeName == "":
		w.logf("%s: cannot be scheduled until %v", p.Name, w.Delay(p).Format(time.TimeOnly))
	case w.IsLost(p):
	case what < 9:
		return w.Crash(p)
	default:
		w.nodeMishap(p, what)
	}
	return false
}

// nodeMishap makes something go wrong with a pod on its node, other than a crash.
func (w *World) nodeMishap(p *corev1.Pod, what int) {
	switch {
	case what < 11:
		w.logf("%s: fails for good", p.Name)
		w.Finish(p)
	case what < 13:
		w.logf("%s: is evicted", p.Name)
		w.Evict(p)
	case what == 13 && p.Status.Phase == corev1.PodRunning:
		w.logf("%s: phase unknown", p.Name)
		p.Status.Phase = corev1.PodUnknown // the rest of the status does not change
	case what == 14 && p.Status.Phase == corev1.PodRunning:
		w.logf("%s: its node is restarted", p.Name)
		w.Reboot(p)
	case what == 15:
		w.logf("%s: exceeds its own limit", p.Name)
		w.Exceed(p)
	default:
		w.logf("%s: not ready", p.Name)
		w.SetReady(p, false)
	}
}

// relapse makes a pod that has recovered from a failure not ready again, usually the one that recovered last.
func (w *World) relapse() {
	var recovered []*corev1.Pod
	for _, p := range w.Pods {
		if !w.hidden[p.UID].recoveredAt.IsZero() && nodes.IsReady(p) && !w.IsLost(p) {
			recovered = append(recovered, p)
		}
	}
	if len(recovered) == 0 {
		return
	}
	p := pick(w, recovered...)
	if w.chance(0.7) {
		p = slices.MaxFunc(recovered, func(a, b *corev1.Pod) int {
			return w.hidden[a.UID].recoveredAt.Compare(w.hidden[b.UID].recoveredAt)
		})
	}
	w.logf("%s: not ready again", p.Name)
	w.SetReady(p, false)
}

// deleteRevision simulates a client that deletes a revision, possibly the current one.
func (w *World) deleteRevision() {
	if len(w.Revisions) == 0 {
		return
	}
	gone := w.Revisions[w.dice.IntN(len(w.Revisions))]
	w.logf("another client deletes revision %s", gone.Name)
	w.Revisions = slices.DeleteFunc(slices.Clone(w.Revisions), func(r *appsv1.ControllerRevision) bool { return r == gone })
}
