package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plugin/budget"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/world"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// Drain is a drain that begins with the simulation and does what kubectl drain does: it cordons the nodes and evicts their pods.
type Drain struct {
	Nodes []string
	// Budgets are the PodDisruptionBudgets of the namespace.
	Budgets []policyv1.PodDisruptionBudget
	// Others are nodes that take pods during the drain. It is empty if such nodes are not known, or if HasNoOther is set.
	Others     []string
	HasNoOther bool
	// Notes are what the simulation assumes because the user may not read it.
	Notes []string
}

// DrainReport is how a drain ends.
type DrainReport struct {
	Nodes []string `json:"nodes"`
	// IsDone is set if all pods have left the nodes, Seconds after the start.
	IsDone  bool    `json:"done"`
	Seconds float64 `json:"seconds"`
	Evicted int     `json:"evicted"`
	// BlockedBy is why the drain waits for ever. It is empty if the drain ends.
	BlockedBy string `json:"blockedBy,omitempty"`
}

// evictionInterval is how long kubectl drain waits after an eviction that is refused.
const evictionInterval = 5 * time.Second

// drainer simulates a drain, and what the controller knows about nodes.
type drainer struct {
	Drain
	manager  *v1.PodManager
	covering []*policyv1.PodDisruptionBudget
	report   DrainReport
	// draining maps a node to the reason why its pods leave. lostSince maps a lost node to the time of its loss.
	draining  map[string]string
	lostSince map[string]time.Time
	// isApart is set if pods may not share a node: the world's scheduler then knows which nodes are closed.
	isApart bool
	// began is when the simulation begins, next when evictions are tried again.
	began, next time.Time
	// refusals maps a pod to the reason why its last eviction was refused.
	refusals map[types.UID]string
}

// newDrainer returns a drainer. Nodes that are drained or lost according to the status stay so.
func newDrainer(live snapshot.Snapshot, begin world.Start, d Drain) (*drainer, error) {
	if len(d.Nodes) > 0 {
		switch {
		case live.Manager == nil:
			return nil, fmt.Errorf("%s does not exist yet, so it has no pods that a drain could evict", begin.Manager.Name)
		case !live.Reads("pods"):
			return nil, fmt.Errorf("you may not read pods in namespace %s, so it is not known what a drain would evict; %s",
				live.Manager.Namespace, rights.ListPods.Advice(live.User, live.Manager.Namespace))
		}
	}
	n := &drainer{
		Drain: d, manager: begin.Manager, covering: budget.Covering(begin.Manager, d.Budgets), report: DrainReport{Nodes: d.Nodes},
		draining: map[string]string{}, lostSince: map[string]time.Time{}, began: begin.Now, next: begin.Now, refusals: map[types.UID]string{},
	}
	for _, pod := range begin.Pods {
		node := pod.Spec.NodeName
		for _, leaves := range begin.Manager.Status.LeavingPods {
			switch {
			case leaves.Name != pod.Name:
			case leaves.Cause == v1.LeavingForDrain:
				n.draining[node] = strings.TrimPrefix(leaves.Message, "node "+node+" ")
			case leaves.Cause == v1.LeavingForNodeLoss:
				n.lostSince[node] = begin.Now.Add(-longest)
			}
		}
	}
	for _, name := range d.Nodes {
		n.draining[name] = "is cordoned"
	}
	if len(n.Others) == 0 {
		for _, pod := range begin.Pods {
			if node := pod.Spec.NodeName; node != "" && n.nodeOf(node) == (leaving.Node{}) && !slices.Contains(n.Others, node) {
				n.Others = append(n.Others, node)
			}
		}
	}
	slices.Sort(n.Others)
	return n, nil
}

// nodeOf returns what the controller knows about a node.
func (n *drainer) nodeOf(name string) leaving.Node {
	return leaving.Node{Draining: n.draining[name], LostSince: n.lostSince[name]}
}

// notes returns what is assumed about the drain.
func (n *drainer) notes(pods []*corev1.Pod) []string {
	if len(n.Nodes) == 0 {
		return nil
	}
	notes := slices.Clone(n.Notes)
	for _, name := range n.Nodes {
		if !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == name }) {
			notes = append(notes, fmt.Sprintf("no pod of %s is on node %s", n.manager.Name, name))
		}
	}
	if n.HasNoOther {
		notes = append(notes, "no other node takes pods, so that replacements never become ready")
	}
	if len(n.covering) == 1 && int(n.covering[0].Status.ExpectedPods) > len(pods) {
		notes = append(notes, fmt.Sprintf("PodDisruptionBudget %s covers other pods, too, which the simulation ignores", n.covering[0].Name))
	}
	return notes
}

// evict evicts the pods of drained nodes whose budgets allow it now, and records refusals. It reports whether it has evicted any, and when to try
// again if another attempt would succeed.
func (n *drainer) evict(w *world.World, decided plan.Plan, r *recorder) (evicted bool, again requeue.Requeue) {
	if len(n.Nodes) == 0 || n.report.IsDone {
		return false, again
	}
	if len(r.steps) == 1 && len(n.refusals) == 0 && n.report.Evicted == 0 {
		r.add(w.Now, Event{Action: Cordoned, Why: enumerate(n.Nodes)})
	}
	isAttempt := !w.Now.Before(n.next)
	for isAttempt && !w.Now.Before(n.next) {
		n.next = n.next.Add(evictionInterval)
	}
	all, toEvict := n.podsOf(w)
	for _, pod := range toEvict {
		others := slices.DeleteFunc(slices.Clone(all), func(other *corev1.Pod) bool { return other == pod })
		switch refusal := budget.Refusal(n.covering, w.Manager.DesiredReplicas(), pod, others); {
		case refusal == "" && isAttempt:
			// The API server deletes an evicted pod as it deletes any other.
			w.Apply(plan.Plan{Revisions: decided.Revisions, Remember: decided.Remember, Delete: []rollout.Deletion{{Pod: pod}}})
			delete(n.refusals, pod.UID)
			n.report.Evicted++
			evicted = true
			r.add(w.Now, Event{Action: Evicted, Pod: pod.Name})
		case refusal == "":
			again = requeue.Requeue{At: n.next, Why: "eviction"}
		case isAttempt:
			if n.refusals[pod.UID] == "" {
				r.add(w.Now, Event{Action: Unevicted, Pod: pod.Name, Why: refusal})
			}
			n.refusals[pod.UID] = refusal
		}
	}
	return evicted, again
}

// podsOf returns the pods of the PodManager, and those that are to be evicted.
func (n *drainer) podsOf(w *world.World) (all, toEvict []*corev1.Pod) {
	for _, pod := range w.Observe().Pods {
		all = append(all, pod)
		if slices.Contains(n.Nodes, pod.Spec.NodeName) && isActive(pod) {
			toEvict = append(toEvict, pod)
		}
	}
	slices.SortFunc(toEvict, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return all, toEvict
}

// noteEnd records that all pods have left the drained nodes.
func (n *drainer) noteEnd(o plan.Observed, r *recorder) {
	isThere := func(pod *corev1.Pod) bool {
		return slices.Contains(n.Nodes, pod.Spec.NodeName) && !podstate.IsFinished(pod)
	}
	if len(n.Nodes) == 0 || n.report.IsDone || slices.ContainsFunc(o.Pods, isThere) {
		return
	}
	n.report.IsDone, n.report.Seconds = true, o.Now.Sub(n.began).Seconds()
	r.add(o.Now, Event{Action: DrainEnds, Why: enumerate(n.Nodes)})
}

// schedule binds new pods to nodes that are not drained.
func (n *drainer) schedule(w *world.World) {
	if n.isApart || len(n.draining)+len(n.lostSince) == 0 {
		return // the world's scheduler binds the pods, or no node is closed
	}
	count := map[string]int{}
	for _, pod := range w.Pods {
		count[pod.Spec.NodeName]++
	}
	for _, pod := range w.Pods {
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		pod.Spec.NodeName = "another-node"
		if len(n.Others) > 0 {
			pod.Spec.NodeName = slices.MinFunc(n.Others, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
		}
		count[pod.Spec.NodeName]++
	}
}

// fate returns how the containers of a pod behave once the pod gets the new revision. A new pod that no node takes never becomes ready.
func (n *drainer) fate(o Options) func(*corev1.Pod, int) nodes.Quality {
	return func(pod *corev1.Pod, number int) nodes.Quality {
		if n.HasNoOther && pod.Spec.NodeName == "" {
			return nodes.NeverReady
		}
		return o.fate(pod, number)
	}
}

// stopAt adds to the last step that the drain is blocked. If the rollout itself completes, the outcome becomes DrainBlocked.
func (r *Report) stopAt(d DrainReport) {
	last := &r.Steps[len(r.Steps)-1]
	last.Events = append(slices.Clip(last.Events), Event{Action: DrainStops, Why: enumerate(d.Nodes)})
	if r.Outcome == Completed {
		r.Outcome, r.Message = DrainBlocked, d.BlockedBy
	}
}

// finish returns the report, or nil if no drain was simulated.
func (n *drainer) finish(w *world.World) *DrainReport {
	if len(n.Nodes) == 0 {
		return nil
	}
	if _, toEvict := n.podsOf(w); len(toEvict) > 0 {
		n.report.BlockedBy = toEvict[0].Name + ": " + cmp.Or(n.refusals[toEvict[0].UID], "not evicted within the simulated time")
	} else if !n.report.IsDone {
		n.report.BlockedBy = "pods do not terminate"
	}
	return &n.report
}
