package world

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// mishap lets something random go wrong with a pod, and tells whether a container has crashed.
func (w *World) mishap(p *corev1.Pod) (hasCrashed bool) {
	if p.DeletionTimestamp != nil || isFinished(p) {
		return false
	}
	what := w.dice.IntN(18)
	switch {
	case what < 2:
		w.logf("%s: somebody deletes it", p.Name)
		w.deletePod(p)
	case what == 2:
		w.logf("%s: somebody marks it", p.Name)
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationDelete, "true")
	case what == 3 && w.chance(0.3):
		w.logf("%s: somebody takes it out", p.Name)
		p.Labels[v1.LabelManager] = "debug"
	case p.Spec.NodeName == "":
		w.hidden[p.UID].idleUntil = w.Now.Add(time.Duration(w.dice.IntN(900)) * time.Second)
		w.logf("%s: cannot be scheduled until %v", p.Name, w.hidden[p.UID].idleUntil.Format(time.TimeOnly))
	case w.lostNodes[p.Spec.NodeName]:
	case what < 9:
		return w.crashAnyContainer(p)
	case what < 11:
		w.logf("%s: ends", p.Name)
		w.finishPod(p)
	case what < 13:
		w.logf("%s: is evicted", p.Name)
		w.evictPod(p)
	case what == 13 && p.Status.Phase == corev1.PodRunning:
		w.logf("%s: phase unknown", p.Name)
		p.Status.Phase = corev1.PodUnknown // the rest of the status stays
	default:
		w.logf("%s: not ready", p.Name)
		w.setReady(p, false)
	}
	return false
}

// relapse makes a pod not ready that has recovered from a failure: mostly the one that has recovered last.
func (w *World) relapse() {
	var recovered []*corev1.Pod
	for _, p := range w.Pods {
		if !w.hidden[p.UID].recoveredAt.IsZero() && isReady(p) && !w.lostNodes[p.Spec.NodeName] {
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
	w.setReady(p, false)
}

// crashAnyContainer crashes a running container, and tells whether there was one. It prefers the first, which may be a sidecar: an update
// in place does not change sidecars.
func (w *World) crashAnyContainer(p *corev1.Pod) bool {
	var running []*corev1.ContainerStatus
	for status := range longRunningOf(p) {
		if status.State.Running != nil {
			running = append(running, status)
		}
	}
	if len(running) == 0 {
		return false
	}
	status := pick(w, running...)
	if w.chance(0.5) {
		status = running[0]
	}
	w.logf("%s: container %s crashes", p.Name, status.Name)
	w.crashContainer(p, status)
	return true
}

// finishPod makes the pod fail for good.
func (w *World) finishPod(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	w.setReady(p, false)
	w.terminateAll(p, 1)
	w.blamePod(p)
}

// evictPod makes the pod fail, or succeed, for a reason of its node.
func (w *World) evictPod(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	w.setReady(p, false)
	p.Status.Reason = pick(w, "", "Evicted", "Terminated", "Preempting")
	if p.Status.Reason == "" || w.chance(0.5) {
		SetCondition(p, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: w.kubeletTime(p)})
	}
	w.terminateAll(p, 137)
	if w.chance(0.3) {
		// All containers obey: the kubelet loses the reason, and keeps the condition.
		p.Status.Phase, p.Status.Reason = corev1.PodSucceeded, ""
		w.terminateAll(p, 0)
	}
}

func (w *World) terminateAll(p *corev1.Pod, code int32) {
	for status := range longRunningOf(p) {
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code, FinishedAt: w.kubeletTime(p)}}
	}
}

// toggleNode cuts the kubelet of a node off, or brings it back. The node controller makes the pods of a lost node not ready, and may evict
// them.
func (w *World) toggleNode() {
	node := "node-" + string(rune('a'+w.dice.IntN(5)))
	if w.lostNodes[node] = !w.lostNodes[node]; !w.lostNodes[node] {
		w.logf("%s is back", node)
		return
	}
	w.logf("%s is lost", node)
	isEvicting := w.chance(0.3)
	for _, p := range w.Pods {
		if p.Spec.NodeName != node || isFinished(p) {
			continue
		}
		ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: w.now()}
		SetCondition(p, ready)
		if isEvicting && p.DeletionTimestamp == nil {
			SetCondition(p, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager", LastTransitionTime: w.now()})
			w.deletePod(p)
		}
	}
}

// deleteRevision lets somebody delete a revision, possibly the current one.
func (w *World) deleteRevision() {
	if len(w.Revisions) == 0 {
		return
	}
	gone := w.Revisions[w.dice.IntN(len(w.Revisions))]
	w.logf("somebody deletes revision %s", gone.Name)
	w.Revisions = slices.DeleteFunc(slices.Clone(w.Revisions), func(r *appsv1.ControllerRevision) bool { return r == gone })
}

// breakImage makes containers of a good image crash from now on, possibly of the current revision's image.
func (w *World) breakImage() {
	image := pick(w, "app:1", "app:2", "app:3", "app:4")
	w.logf("%s breaks", image)
	w.brokenImages[image] = true
}
