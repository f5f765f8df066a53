package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hiddenState is the state of a pod that the API server does not show.
type hiddenState struct {
	// observed is the generation of the pod that its kubelet has seen, applied the one that the kubelet has carried out.
	observed, applied int64
	// starts is what each container was last started with.
	starts map[string]containerStart
	// updates is how often an update in place of the pod was completed or interrupted.
	updates int
	// interrupted tells that an update in place was begun and not completed; refused is the hash of the revision to which the API server
	// has refused an update.
	interrupted bool
	refused     string
	// updatedAt is when the pod was last updated in place, revisionGeneration the generation with which it got its revision.
	updatedAt          time.Time
	revisionGeneration int64
	// idleUntil is until when the pod makes no progress, because it cannot be scheduled or its images take long to pull.
	idleUntil time.Time
	// readySince is since when the controller has seen the pod ready; zero while it is not ready.
	readySince time.Time
	// stuck tells that the pod stays terminating.
	stuck bool
	// byHand tells that a user has created the pod: its spec may differ from all templates.
	byHand bool
	blame  blame
	// failedEarly tells that the pod has failed after an update in place, and before its kubelet had seen the update.
	failedEarly bool
	// recoveredAt is when the pod last recovered from a failure; zero if it never did.
	recoveredAt time.Time
	// replacement is the pod that was created to replace this one.
	replacement *corev1.Pod
}

// containerStart is what a container was started with.
type containerStart struct {
	image     string
	resources corev1.ResourceRequirements
}

func conditionOf(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func SetCondition(p *corev1.Pod, c corev1.PodCondition) {
	if found := conditionOf(p, c.Type); found != nil {
		if found.Status == c.Status {
			c.LastTransitionTime = found.LastTransitionTime
		}
		*found = c
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}

func DropCondition(p *corev1.Pod, kind corev1.PodConditionType) {
	var kept []corev1.PodCondition
	for _, c := range p.Status.Conditions {
		if c.Type != kind {
			kept = append(kept, c)
		}
	}
	p.Status.Conditions = kept
}

// kubeletTime is the time as the pod's kubelet writes it.
func (w *World) kubeletTime(p *corev1.Pod) metav1.Time {
	return metav1.NewTime(w.Now.Add(w.clockSkews[p.Spec.NodeName]).Truncate(time.Second))
}

func (w *World) setReady(p *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	} else {
		w.hidden[p.UID].readySince = time.Time{}
	}
	SetCondition(p, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: w.kubeletTime(p)})
}

// nextStep is the next step of the kubelet or the scheduler for a pod; nil if there is none.
func (w *World) nextStep(p *corev1.Pod) func() {
	hidden := w.hidden[p.UID]
	switch {
	case p.Spec.NodeName != "" && w.lostNodes[p.Spec.NodeName]:
		return nil
	case p.DeletionTimestamp != nil:
		if hidden.stuck {
			return nil
		}
		return func() { w.removePod(p) }
	case isFinished(p), !w.Calm && w.Now.Before(hidden.idleUntil):
		return nil
	case p.Spec.NodeName == "":
		return func() { w.schedule(p) }
	case p.Status.Phase == corev1.PodUnknown:
		return func() { p.Status.Phase = corev1.PodRunning }
	case hidden.observed < p.Generation:
		return func() { w.observeGeneration(p) }
	case w.kubeletIsBehind(p):
		return func() { w.applySpec(p) }
	}
	if step := w.nextContainerStep(p); step != nil {
		return step
	}
	if isReady(p) != w.shouldBeReady(p) {
		return func() { w.setReady(p, !isReady(p)) }
	}
	return nil
}

// shouldBeReady tells whether all readiness gates are open, and all long-running containers run and do not crash at once.
func (w *World) shouldBeReady(p *corev1.Pod) bool {
	for _, gate := range p.Spec.ReadinessGates {
		if found := conditionOf(p, gate.ConditionType); found == nil || found.Status != corev1.ConditionTrue {
			return false
		}
	}
	for status := range longRunningOf(p) {
		if status.State.Running == nil || w.quality(w.hidden[p.UID].starts[status.Name].image) == crashing {
			return false
		}
	}
	return p.Status.Phase == corev1.PodRunning
}

// schedule binds a pod to a node, whose kubelet may refuse to admit the pod.
func (w *World) schedule(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	p.Spec.NodeName = "node-" + string(rune('a'+w.dice.IntN(5)))
	hidden.observed, hidden.applied = p.Generation, p.Generation
	w.writeObservedGeneration(p)
	if w.fails(0.05) {
		reason := pick(w, "OutOfcpu", "NodeAffinity", "NodeShutdown", "UnexpectedAdmissionError", "SysctlForbidden")
		w.logf("  %s is not admitted: %s", p.Name, reason)
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason
		if reason == "SysctlForbidden" { // no kubelet admits the pod
			w.blamePod(p)
		}
		return
	}
	start := w.kubeletTime(p)
	p.Status.StartTime = &start
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = waitingStatuses(p.Spec.InitContainers, p), waitingStatuses(p.Spec.Containers, p)
	if w.fails(0.1) {
		hidden.idleUntil = w.Now.Add(time.Duration(w.dice.IntN(900)) * time.Second)
		w.logf("  %s: its images take until %v", p.Name, hidden.idleUntil.Format(time.TimeOnly))
		return
	}
	if w.chance(0.8) {
		w.startContainers(p)
	}
}

// writeObservedGeneration writes the observedGeneration of a pod, unless the kubelets are old.
func (w *World) writeObservedGeneration(p *corev1.Pod) {
	if !w.oldKubelets {
		p.Status.ObservedGeneration = w.hidden[p.UID].observed
	}
}
