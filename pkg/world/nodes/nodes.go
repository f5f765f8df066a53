package nodes

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

// Nodes has all nodes of a cluster, with the pods that run on them.
type Nodes struct {
	Now time.Time
	// Calm is set once nothing fails any more, and users edit nothing.
	Calm bool
	// OldKubelets is set if the kubelets do not write the observedGeneration of pods.
	OldKubelets bool
	// Tell, if not nil, receives a line for each step.
	Tell func(format string, args ...any)
	// Failed is called for each pod that fails on its own, Observed for each pod whose kubelet has seen an update.
	Failed, Observed func(*corev1.Pod)

	dice   dice.Dice
	course *Course
	states map[types.UID]*State
	// brokenImages are images that were good before.
	brokenImages map[string]bool
	// clockSkews has how far the clock of each node is ahead. lost has the nodes whose kubelets are disconnected.
	clockSkews map[string]time.Duration
	lost       map[string]bool
	// cordoned has the nodes that take no more pods.
	cordoned map[string]bool
}

// New returns nodes without pods.
func New(d dice.Dice, now time.Time, oldKubelets bool) *Nodes {
	n := &Nodes{
		Now: now, OldKubelets: oldKubelets, dice: d, states: map[types.UID]*State{}, brokenImages: map[string]bool{},
		clockSkews: map[string]time.Duration{}, lost: map[string]bool{}, cordoned: map[string]bool{},
	}
	for node := 'a'; node <= 'e'; node++ {
		n.clockSkews["node-"+string(node)] = dice.Pick(d, 0, 0, 0, 15*time.Minute, 15*time.Second, -15*time.Second, -15*time.Minute)
	}
	return n
}

func (n *Nodes) logf(format string, args ...any) {
	if n.Tell != nil {
		n.Tell(format, args...)
	}
}

// fails decides at random whether something fails. Nothing fails in calm.
func (n *Nodes) fails(p float64) bool { return !n.Calm && n.dice.Chance(p) }

// State is the part of a pod's state that the API server does not show.
type State struct {
	// Observed is the generation of the pod that its kubelet has seen, Applied the generation that the kubelet has carried out.
	Observed, Applied int64
	// IsSilent is set if the kubelet has seen a resize, and has written neither a condition nor the new resources yet.
	IsSilent bool
	// ReadySince is since when the controller has seen the pod ready. It is zero once the pod is not ready.
	ReadySince time.Time
	// UnreadySince is when the API server learned that the pod is not ready any more. It is zero while the pod is ready.
	UnreadySince time.Time
	// readyAt is when the pod last became ready, and written is when the API server last received its status from the node.
	readyAt, written time.Time
	// starts has what each container was last started with.
	starts map[string]containerStart
	// probed has the containers whose startup probes have yet to succeed. unknownUntil has a time for each container that was restarted for an update
	// in place, and has not crashed since: until then, nothing shows whether its startup probe has succeeded. doubtfulSince is when a container of an
	// updated pod was last restarted for any reason, and doubtfulFor is how long nothing shows the same of that container.
	probed        map[string]bool
	unknownUntil  map[string]time.Time
	doubtfulSince time.Time
	doubtfulFor   time.Duration
	// idleUntil is until when the pod makes no progress, because it cannot be scheduled or its images take long to pull.
	idleUntil time.Time
	// startedAt is when a container was last started, observedAt when the kubelet last saw an update.
	startedAt, observedAt time.Time
}

// Add adds a pod that is not scheduled yet.
func (n *Nodes) Add(p *corev1.Pod) *State {
	n.states[p.UID] = &State{starts: map[string]containerStart{}, probed: map[string]bool{}, unknownUntil: map[string]time.Time{}}
	return n.states[p.UID]
}

// Remove removes a pod.
func (n *Nodes) Remove(p *corev1.Pod) { delete(n.states, p.UID) }

// containerStart is what a container was started with.
type containerStart struct {
	image     string
	resources corev1.ResourceRequirements
}

// kubeletTime returns the time as the pod's kubelet writes it.
func (n *Nodes) kubeletTime(p *corev1.Pod) metav1.Time {
	return metav1.NewTime(n.Now.Add(n.clockSkews[p.Spec.NodeName]).Truncate(time.Second))
}

// serverTime returns the time as the API server and the scheduler write it.
func (n *Nodes) serverTime() metav1.Time { return metav1.NewTime(n.Now.Truncate(time.Second)) }

// SetReady marks the pod as ready or not ready.
func (n *Nodes) SetReady(p *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	n.writeReady(p, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: n.kubeletTime(p)})
}

// writeReady sets the condition Ready for the kubelet or the node controller.
func (n *Nodes) writeReady(p *corev1.Pod, ready corev1.PodCondition) {
	state := n.states[p.UID]
	if ready.Status == corev1.ConditionTrue {
		state.UnreadySince = time.Time{}
		if !IsReady(p) {
			state.readyAt = n.serverTime().Time
		}
	} else {
		state.ReadySince = time.Time{}
		if IsReady(p) {
			state.UnreadySince = n.Now
		}
	}
	SetCondition(p, ready)
	n.noteWrite(p)
}

// noteWrite records when the pod's status was written, as the API server does.
func (n *Nodes) noteWrite(p *corev1.Pod) {
	now := n.serverTime()
	n.states[p.UID].written = now.Time
	p.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &now,
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{}}}}`),
	}}
}

// ReadyAt returns when a pod became ready, as far as that is known.
func (n *Nodes) ReadyAt(p *corev1.Pod) time.Time { return n.knownTime(p, n.states[p.UID].readyAt) }

// knownTime returns when something happened to a pod, as far as its status shows. If the clock of its node is ahead, it is only known that this was
// before the node's last report.
func (n *Nodes) knownTime(p *corev1.Pod, at time.Time) time.Time {
	if ahead := n.clockSkews[p.Spec.NodeName]; ahead > 0 {
		return earlier(at.Add(ahead), n.states[p.UID].written)
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Next returns the next step of the kubelet or the scheduler for a pod that is not terminating, or nil if there is none.
func (n *Nodes) Next(p *corev1.Pod) func() {
	step := n.next(p)
	if step == nil {
		return nil
	}
	return func() {
		step()
		n.noteWrite(p)
	}
}

func (n *Nodes) next(p *corev1.Pod) func() {
	state := n.states[p.UID]
	switch {
	case n.isIdle(p):
		return nil
	case p.Spec.NodeName == "", n.course != nil && state.Observed == 0: // the template may name the node
		return func() { n.schedule(p) }
	case len(p.Status.ContainerStatuses) == 0: // the pod was bound, but the API server lost the kubelet's first status
		return func() { n.schedule(p) }
	case p.Status.Phase == corev1.PodUnknown:
		return func() { p.Status.Phase = corev1.PodRunning }
	case state.Observed < p.Generation:
		return func() { n.observeGeneration(p) }
	case n.IsBehind(p):
		return func() { n.applySpec(p) }
	}
	if step := n.nextContainerStep(p); step != nil {
		return step
	}
	if gate := closedGate(p); gate != "" && p.Status.Phase == corev1.PodRunning {
		return func() { n.openGate(p, gate) }
	}
	if IsReady(p) != n.shouldBeReady(p) {
		return func() { n.SetReady(p, !IsReady(p)) }
	}
	return nil
}

// isIdle reports whether the pod's kubelet, or the scheduler, does nothing about the pod for now.
func (n *Nodes) isIdle(p *corev1.Pod) bool {
	hasNoNode := p.Spec.NodeName == "" && len(n.cordoned) > 0 && len(n.openNodes()) == 0
	return n.IsLost(p) || IsFinished(p) || hasNoNode || !n.Calm && n.Now.Before(n.states[p.UID].idleUntil)
}

// closedGate returns a readiness gate of the pod that another controller has yet to open.
func closedGate(p *corev1.Pod) corev1.PodConditionType {
	for _, gate := range p.Spec.ReadinessGates {
		if strings.HasPrefix(string(gate.ConditionType), "example.com/") && Condition(p, gate.ConditionType) == nil {
			return gate.ConditionType
		}
	}
	return ""
}

func (n *Nodes) openGate(p *corev1.Pod, gate corev1.PodConditionType) {
	SetCondition(p, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue, LastTransitionTime: n.serverTime()})
}

// shouldBeReady reports whether all readiness gates are open, and all long-running containers run, have passed their startup probes, and become
// ready.
func (n *Nodes) shouldBeReady(p *corev1.Pod) bool {
	for _, gate := range p.Spec.ReadinessGates {
		if found := Condition(p, gate.ConditionType); found == nil || found.Status != corev1.ConditionTrue {
			return false
		}
	}
	for status := range longRunningOf(p) {
		quality := n.qualityOf(p, n.states[p.UID].starts[status.Name].image)
		if status.State.Running == nil || n.states[p.UID].probed[status.Name] || quality == Crashing || quality == NeverReady {
			return false
		}
	}
	return p.Status.Phase == corev1.PodRunning
}

// nodeFor returns the node that the scheduler chooses for a pod.
func (n *Nodes) nodeFor(p *corev1.Pod) string {
	if n.course != nil {
		return n.course.NodeFor(p)
	}
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if len(n.cordoned) > 0 {
		return dice.Pick(n.dice, n.openNodes()...)
	}
	return "node-" + string(rune('a'+n.dice.IntN(5)))
}

// schedule binds a pod to a node, unless it is bound already. The node's kubelet may refuse to admit the pod.
func (n *Nodes) schedule(p *corev1.Pod) {
	state := n.states[p.UID]
	if p.Spec.NodeName = n.nodeFor(p); p.Spec.NodeName == "" {
		n.leaveUnplaced(p)
		return
	}
	state.Observed, state.Applied = p.Generation, p.Generation
	n.writeObservedGeneration(p)
	if n.fails(0.05) {
		reason := dice.Pick(n.dice, "OutOfcpu", "NodeAffinity", "NodeShutdown", "UnexpectedAdmissionError", "SysctlForbidden")
		n.logf("  %s is not admitted: %s", p.Name, reason)
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason
		if reason == "SysctlForbidden" { // no kubelet admits the pod
			n.Failed(p)
		}
		return
	}
	start := n.kubeletTime(p)
	p.Status.StartTime = &start
	SetCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: n.serverTime()})
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = waitingStatuses(p.Spec.InitContainers, p), waitingStatuses(p.Spec.Containers, p)
	if n.fails(0.1) {
		n.logf("  %s: its images take until %v", p.Name, n.Delay(p).Format(time.TimeOnly))
		return
	}
	if n.dice.Chance(0.8) {
		n.startContainers(p)
	}
}

// writeObservedGeneration writes the observedGeneration of a pod, unless the kubelets are old.
func (n *Nodes) writeObservedGeneration(p *corev1.Pod) {
	if !n.OldKubelets {
		p.Status.ObservedGeneration = n.states[p.UID].Observed
	}
}
