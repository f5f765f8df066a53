package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// disrupted sets spec.disruption.
func disrupted(rules v1.Disruption) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.Disruption = &rules }
}

var (
	replaceDrained = disrupted(v1.Disruption{OnDrain: v1.ReplaceDrain})
	replaceLost    = disrupted(v1.Disruption{NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60), ForceDeleteAfterSeconds: ptr.To[int32](600)}})
	replaceOld     = disrupted(v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](3600)})
)

// onNodes adds what is known about nodes.
func onNodes(nodes map[string]leaving.Node) func(*Observed) {
	return func(o *Observed) { o.NodeOf = func(name string) leaving.Node { return nodes[name] } }
}

// cordoned returns nodes that are being drained.
func cordoned(names ...string) func(*Observed) {
	nodes := map[string]leaving.Node{}
	for _, name := range names {
		nodes[name] = leaving.Node{Draining: "is cordoned"}
	}
	return onNodes(nodes)
}

// lost returns nodes that have been lost for some time.
func lost(ago time.Duration, names ...string) func(*Observed) {
	nodes := map[string]leaving.Node{}
	for _, name := range names {
		nodes[name] = leaving.Node{LostSince: Now.Add(-ago)}
	}
	return onNodes(nodes)
}

var drainedAndOld = disrupted(v1.Disruption{OnDrain: v1.ReplaceDrain, MaxPodAgeSeconds: ptr.To[int32](3600)})

// isGood makes the new revision the current one.
func isGood(o *Observed) { o.Manager.Status.CurrentRevision = o.Revisions[1].Name }

// refusedNginx puts the creation of pods of the image nginx into backoff.
func refusedNginx(o *Observed) {
	o.Backoffs = map[requeue.BackoffKey]requeue.Backoff{CreateBackoff(RevisionFor(Manager(0))): {Until: o.Now.Add(time.Minute)}}
}

// superseding returns a rollout of a third revision. Pods may have the second revision, which is not the current one.
func superseding(m *v1.PodManager, pods ...*corev1.Pod) Observed {
	o := RollingOut(m, pods...)
	o.Revisions = append(o.Revisions[:1:1], Stored(Manager(0, Image("v0")), 2), Stored(m, 3))
	return o
}

// aged gives a pod this age.
func aged(age time.Duration) func(*corev1.Pod) { return CreatedAgo(age) }

// terminatingFor makes a pod look as if it was deleted this long ago with a grace period of 30 s.
func terminatingFor(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: Now.Add(30*time.Second - ago)}, ptr.To[int64](30)
	}
}

func TestLeaving(t *testing.T) {
	surge, noSurge := Limits("1", "0"), Limits("0", "1")
	complete := func(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }
	young, old, older := aged(time.Minute), aged(2*time.Hour), aged(3*time.Hour)
	tests := map[string]struct {
		observed Observed
		create   int
		revision string // of the pods to create; by default the new one
		deletes  []string
		leaves   []string
	}{
		"one replica":                 {observed: With(Observe(Manager(1, surge, replaceDrained), Pod(0)), cordoned("node-0")), create: 1, leaves: []string{"web-0"}},
		"no surge":                    {observed: With(Observe(Manager(1, noSurge, replaceDrained), Pod(0)), cordoned("node-0")), create: 1, leaves: []string{"web-0"}},
		"ignored":                     {observed: With(Observe(Manager(1, surge), Pod(0)), cordoned("node-0"))},
		"another node":                {observed: With(Observe(Manager(1, surge, replaceDrained), Pod(0)), cordoned("node-9"))},
		"replaced, not evicted":       {observed: With(Observe(Manager(1, surge, replaceDrained), Pod(0), Pod(1)), cordoned("node-0")), leaves: []string{"web-0"}},
		"uncordoned":                  {observed: With(Observe(Manager(1, surge, replaceDrained), Pod(0, old), Pod(1, young, ReadyFor(time.Second))), cordoned()), deletes: []string{"web-1"}},
		"one after the other":         {observed: With(Observe(Manager(3, surge, replaceDrained), Pods3()...), cordoned("node-0", "node-1", "node-2")), create: 1, leaves: []string{"web-0"}},
		"while one is starting":       {observed: With(Observe(Manager(3, surge, replaceDrained), append(Pods3(), Pod(3, NotReady))...), cordoned("node-0", "node-1", "node-2")), leaves: []string{"web-0"}},
		"the next one":                {observed: With(Observe(Manager(3, surge, replaceDrained), append(Pods3(), Pod(3))...), cordoned("node-0", "node-1", "node-2")), create: 1, leaves: []string{"web-0", "web-1"}},
		"as many as the surge":        {observed: With(Observe(Manager(3, Limits("2", "0"), replaceDrained), Pods3()...), cordoned("node-0", "node-1", "node-2")), create: 2, leaves: []string{"web-0", "web-1"}},
		"never two":                   {observed: With(Observe(Manager(1, surge, replaceDrained, complete), Pod(0)), cordoned("node-0"))},
		"never two, Recreate":         {observed: With(Observe(Manager(1, Strategy(v1.RecreateStrategy), replaceDrained), Pod(0)), cordoned("node-0"))},
		"only in place":               {observed: With(Observe(Manager(1, surge, replaceDrained, InPlace(v1.InPlaceOnly, 0)), Pod(0)), cordoned("node-0")), create: 1, leaves: []string{"web-0"}},
		"paused":                      {observed: With(RollingOut(Next(2, surge, replaceDrained, Paused), Pod(0), Pod(1, V2)), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"a partition":                 {observed: With(RollingOut(Next(3, surge, replaceDrained, Partition("2")), Pod(0), Pod(1), Pod(2, V2)), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"lost":                        {observed: With(Observe(Manager(3, surge, replaceLost), Pods3()...), lost(time.Minute, "node-0", "node-1")), create: 2, leaves: []string{"web-0", "web-1"}},
		"lost for less":               {observed: With(Observe(Manager(3, surge, replaceLost), Pods3()...), lost(59*time.Second, "node-0"))},
		"lost, terminating":           {observed: With(Observe(Manager(1, replaceLost), Pod(0, terminatingFor(9*time.Minute)), Pod(1)), lost(time.Hour, "node-0"))},
		"lost, terminating longer":    {observed: With(Observe(Manager(1, replaceLost), Pod(0, terminatingFor(10*time.Minute)), Pod(1)), lost(time.Hour, "node-0")), deletes: []string{"web-0"}},
		"lost for less, longer":       {observed: With(Observe(Manager(1, replaceLost), Pod(0, terminatingFor(10*time.Minute)), Pod(1)), lost(9*time.Minute, "node-0"))},
		"terminating elsewhere":       {observed: With(Observe(Manager(1, replaceLost), Pod(0, terminatingFor(time.Hour)), Pod(1)), lost(time.Hour, "node-9"))},
		"replicas zero":               {observed: With(Observe(Manager(0, surge, replaceDrained), Pod(0)), cordoned("node-0")), deletes: []string{"web-0"}},
		"superseded":                  {observed: With(RollingOut(Next(1, surge, replaceDrained), Pod(0), Pod(1, V2)), cordoned("node-0")), deletes: []string{"web-0"}, leaves: []string{"web-0"}},
		"superseded, lost":            {observed: With(RollingOut(Next(1, surge, replaceLost), Pod(0), Pod(1, V2)), lost(time.Hour, "node-0")), deletes: []string{"web-0"}, leaves: []string{"web-0"}},
		"not covered yet":             {observed: With(RollingOut(Next(1, surge, replaceDrained), Pod(0), Pod(1, V2, NotReady)), cordoned("node-0")), leaves: []string{"web-0"}},
		"superseded, paused":          {observed: With(RollingOut(Next(1, surge, replaceDrained, Paused), Pod(0), Pod(1, V2)), cordoned("node-0")), leaves: []string{"web-0"}},
		"its own revision, paused":    {observed: With(superseding(Next(1, surge, replaceDrained, Paused), Pod(0, OfImage("v0"))), cordoned("node-0")), create: 1, revision: "v0", leaves: []string{"web-0"}},
		"its own, beside a newer":     {observed: With(superseding(Next(2, surge, replaceDrained, Paused), Pod(0), Pod(1, OfImage("v0"))), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"its own, by a partition":     {observed: With(superseding(Next(2, surge, replaceDrained, Partition("2")), Pod(0), Pod(1, OfImage("v0"))), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"its own, beside a failed":    {observed: With(superseding(Next(2, surge, replaceDrained, Partition("2")), Pod(0), Pod(1, OfImage("v0")), FailedPod(2, time.Minute, 0, OfImage("v0"))), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"its own, and another failed": {observed: With(superseding(Next(2, surge, replaceDrained, Paused), Pod(0), Pod(1, OfImage("v0")), FailedPod(5, time.Second, 3)), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"its own, refused":            {observed: With(superseding(Next(2, surge, replaceDrained, Paused), Pod(0), Pod(1, OfImage("v0"))), cordoned("node-0"), refusedNginx), leaves: []string{"web-0"}},
		"returned to, paused":         {observed: With(RollingOut(Next(2, surge, replaceDrained, Paused), Pod(0), Pod(1, V2)), cordoned("node-0"), isGood), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"returned to":                 {observed: With(RollingOut(Next(2, surge, replaceDrained), Pod(0), Pod(1, V2)), cordoned("node-0"), isGood), create: 1, revision: "v2", leaves: []string{"web-0"}},
		"kept by the partition":       {observed: With(RollingOut(Next(2, surge, replaceDrained, Partition("1")), Pod(0), Pod(1, V2), Pod(2)), cordoned("node-0")), leaves: []string{"web-0"}},
		"rolled back":                 {observed: With(RollingOut(Next(1, surge, replaceDrained, OnFailure(v1.RollbackOnFailure), FailedNow), Pod(0), Pod(1, V2)), cordoned("node-1")), deletes: []string{"web-1"}, leaves: []string{"web-1"}},
		"halted":                      {observed: With(RollingOut(Next(3, surge, replaceDrained), Pod(0), Pod(1), Pod(2), Pod(3, V2, Crashing, NotReady)), cordoned("node-0")), create: 1, revision: "nginx", leaves: []string{"web-0"}},
		"next to be updated":          {observed: With(RollingOut(Next(3, noSurge, replaceDrained), Pods3()...), cordoned("node-2")), create: 1, revision: "v2", leaves: []string{"web-2"}},
		"two of the old revision":     {observed: With(RollingOut(Next(3, noSurge, replaceDrained), Pod(0), Pod(1), Pod(2), Pod(3, V2)), cordoned("node-1", "node-2")), create: 1, revision: "v2", leaves: []string{"web-1", "web-2"}},
		"old, while it bakes":         {observed: RollingOut(Next(1, surge, replaceOld), Pod(1, V2, old))},
		"old":                         {observed: Observe(Manager(2, surge, replaceOld), Pod(0, old), Pod(1, older)), create: 1, leaves: []string{"web-1"}},
		"old, being replaced":         {observed: Observe(Manager(2, surge, replaceOld, leavesForAge("web-1")), Pod(0, old), Pod(1, older), Pod(2, young, NotReady)), leaves: []string{"web-1"}},
		"old, replaced":               {observed: Observe(Manager(2, surge, replaceOld, leavesForAge("web-1")), Pod(0, old), Pod(1, older), Pod(2, young)), deletes: []string{"web-1"}, leaves: []string{"web-1"}},
		"old, replaced, paused":       {observed: Observe(Manager(2, surge, replaceOld, leavesForAge("web-1"), Paused), Pod(0, old), Pod(1, older), Pod(2, young)), leaves: []string{"web-1"}},
		"old, replaced, by a roll":    {observed: RollingOut(Next(1, surge, replaceOld, leavesForAge("web-0")), Pod(0, old), Pod(1, V2)), deletes: []string{"web-0"}, leaves: []string{"web-0"}},
		"old, beside a drain":         {observed: With(Observe(Manager(3, surge, drainedAndOld), Pod(0, young), Pod(1, young), Pod(2, old, NotReady), Pod(3, young)), cordoned("node-0", "node-1")), leaves: []string{"web-0"}},
		"old, after a drain":          {observed: With(Observe(Manager(2, surge, drainedAndOld), Pod(0, young), Pod(1, old), Pod(2, young)), cordoned("node-0")), create: 1, leaves: []string{"web-0", "web-1"}},
		"old, no surge":               {observed: Observe(Manager(2, noSurge, replaceOld), Pod(0, old), Pod(1, older)), deletes: []string{"web-1"}},
		"old, no surge, no budget":    {observed: Observe(Manager(2, noSurge, replaceOld), Pod(0, old, NotReady), Pod(1, older))},
		"young":                       {observed: Observe(Manager(1, surge, replaceOld), Pod(0, young))},
		"old, paused":                 {observed: Observe(Manager(1, surge, replaceOld, Paused), Pod(0, old))},
		"old, rolled back":            {observed: RollingOut(Next(2, noSurge, replaceOld, OnFailure(v1.RollbackOnFailure), FailedNow), Pod(0, old), Pod(1, older)), deletes: []string{"web-1"}},
		"old, being rolled back":      {observed: RollingOut(Next(2, noSurge, replaceOld, OnFailure(v1.RollbackOnFailure), FailedNow), Pod(0, old), Pod(1, young), Pod(2, V2, young)), deletes: []string{"web-2"}},
		"old, during a rollout":       {observed: RollingOut(Next(2, noSurge, replaceOld), Pod(0, old), Pod(1, V2, NotReady))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decided := Make(test.observed)
			var deletes, leaves []string
			for _, d := range decided.Delete {
				deletes = append(deletes, d.Pod.Name)
				if d.Force != (d.Why == rollout.WhyNodeLost) {
					t.Errorf("%s is deleted by force: %v", d.Pod.Name, d.Force)
				}
			}
			for _, l := range decided.Leaving {
				leaves = append(leaves, l.Name)
			}
			if len(decided.Create) != test.create || !slices.Equal(deletes, test.deletes) || !slices.Equal(leaves, test.leaves) {
				t.Errorf("creates %d, deletes %v, leaving are %v; want %d, %v, %v", len(decided.Create), deletes, leaves, test.create, test.deletes, test.leaves)
			}
			for _, c := range decided.Create {
				if image := c.Revision.Template().Spec.Containers[0].Image; test.revision != "" && image != test.revision {
					t.Errorf("creates a pod of %s, want %s", image, test.revision)
				}
				if c.Before == nil {
					t.Errorf("%d replaces no pod that leaves", c.Index)
				}
			}
		})
	}
}

// leavesForAge makes the status say that a pod leaves because it is too old.
func leavesForAge(name string) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Status.LeavingPods = []v1.LeavingPod{{Name: name, Cause: v1.LeavingForAge}} }
}

// The revision of a pod that leaves still runs: a lost pod of the old side is replaced by one of that revision, not of the current one.
func TestLostBesideALeavingPod(t *testing.T) {
	decided := Make(With(superseding(Next(2, Limits("2", "0"), replaceDrained, Partition("2")), Pod(0, OfImage("v0"))), cordoned("node-0")))
	if len(decided.Create) != 2 || len(decided.Leaving) != 1 {
		t.Fatalf("creates %d, leaving are %v", len(decided.Create), decided.Leaving)
	}
	for _, c := range decided.Create {
		if image := c.Revision.Template().Spec.Containers[0].Image; image != "v0" {
			t.Errorf("creates %d of %s, want v0", c.Index, image)
		}
	}
}

// A failed pod is replaced by one of its revision while the replacement of a leaving pod of another revision is not available yet.
func TestFailedBesideALeavingPod(t *testing.T) {
	pods := []*corev1.Pod{Pod(0), Pod(1, OfImage("v0")), Pod(2, NotReady, Replacing("web-0")), FailedPod(3, time.Minute, 0, OfImage("v0"))}
	decided := Make(With(superseding(Next(3, replaceDrained, Partition("3")), pods...), cordoned("node-0")))
	if len(decided.Create) != 1 || decided.Create[0].Failed != pods[3] || len(decided.Leaving) != 1 {
		t.Errorf("creates %+v, leaving are %v", decided.Create, decided.Leaving)
	}
}

// A replacement names a leaving pod that has no replacement yet.
func TestReplacesTheUnreplaced(t *testing.T) {
	o := Observe(Manager(2, Limits("2", "0"), replaceDrained), Pod(0), Pod(1), Pod(3, NotReady, Replacing("web-1")))
	decided := Make(With(o, cordoned("node-0", "node-1")))
	if len(decided.Create) != 1 || decided.Create[0].Before == nil || decided.Create[0].Before.Name != "web-0" {
		t.Errorf("creates %+v", decided.Create)
	}
}

// The event about a replacement names the pod that leaves, and no other pod is said to be a replacement.
func TestBefore(t *testing.T) {
	scaledUp := Make(With(Observe(Manager(4, replaceDrained), Pod(0), Pod(1), Pod(2), Pod(3)), cordoned("node-0", "node-1")))
	if len(scaledUp.Create) != 1 || scaledUp.Create[0].Before == nil || scaledUp.Create[0].Before.Name != "web-0" {
		t.Errorf("creates %+v", scaledUp.Create)
	}
	mixed := Make(With(RollingOut(Next(3, Limits("2", "0"), replaceDrained, Paused), Pod(0), Pod(1), Pod(2, V2)), cordoned("node-0", "node-2")))
	for _, c := range mixed.Create {
		if c.Before.Labels[v1.LabelRevision] != c.Revision.Hash || len(mixed.Create) != 2 {
			t.Errorf("paused: %d are created, a pod of %s replaces %v", len(mixed.Create), c.Revision.Hash, c.Before.Name)
		}
	}
	surge := Make(With(RollingOut(Next(2, Limits("1", "0"), replaceDrained), Pod(0), Pod(1), Pod(2)), cordoned("node-0")))
	if len(surge.Create) != 1 || surge.Create[0].Before != nil {
		t.Errorf("a surge pod of a rollout replaces %v", surge.Create[0].Before)
	}
}

// TakesDown returns true for a plan that deletes a ready pod, unless no pods are desired.
func TestTakesDown(t *testing.T) {
	tests := map[string]struct {
		observed Observed
		want     bool
	}{
		"too old":              {Observe(Manager(1, replaceOld, leavesForAge("web-0")), Pod(0, aged(2*time.Hour)), Pod(1, aged(time.Minute))), true},
		"scaled down":          {Observe(Manager(1), Pod(0), Pod(1)), true},
		"scaled down to zero":  {Observe(Manager(0), Pod(0), Pod(1)), false},
		"marked":               {Observe(Manager(2, Limits("0", "1")), Pod(0, Marked), Pod(1)), true},
		"a surplus one starts": {Observe(Manager(1), Pod(0), Pod(1, NotReady)), false},
		"rollout":              {RollingOut(Next(2, Limits("0", "1")), Pod(0), Pod(1)), true},
	}
	for name, test := range tests {
		if decided := Make(test.observed); len(decided.Delete) != 1 && name != "scaled down to zero" || decided.TakesDown(test.observed.Manager) != test.want {
			t.Errorf("%s: deletes %v, and reads live: %v", name, decided.Delete, !test.want)
		}
	}
}

// A pod on a lost node does not delay the deletion of its PodManager, with or without our finalizer. If the pods are orphaned, none is deleted.
func TestForceWhileDeleting(t *testing.T) {
	for _, change := range []func(*v1.PodManager){func(*v1.PodManager) {}, MaxTerminating("1"), func(m *v1.PodManager) { m.Finalizers = []string{metav1.FinalizerOrphanDependents} }} {
		m := Manager(1, replaceLost, Deleting, change)
		if m.PacesScaleDown() {
			m.Finalizers = []string{v1.Finalizer}
		}
		decided := Make(With(Observe(m, Pod(0, terminatingFor(time.Hour))), lost(time.Hour, "node-0")))
		isOrphaned := slices.Contains(m.Finalizers, metav1.FinalizerOrphanDependents)
		if forces := len(decided.Delete) == 1 && decided.Delete[0].Force; forces == isOrphaned {
			t.Errorf("finalizers %v: deletes %v", m.Finalizers, decided.Delete)
		}
	}
}

// What a status says about pods that leave: they do not count, and Ready names them. A late replacement for an old pod is reported once.
func TestLeavingInStatus(t *testing.T) {
	tell := func(o Observed) (v1.PodManagerStatus, string) {
		told, _ := status.Compute(Planned(o))
		return told, MessageIn(&told, v1.ConditionReady)
	}
	told, message := tell(With(Observe(Manager(1, replaceDrained), Pod(0), Pod(1)), cordoned("node-0")))
	if told.Replicas != 1 || told.LeavingReplicas != 1 || told.AvailableReplicas != 1 || !strings.HasSuffix(message, "; web-0 is leaving: node node-0 is cordoned") {
		t.Errorf("%d pods, %d leaving: %s", told.Replicas, told.LeavingReplicas, message)
	}
	_, message = tell(With(Observe(Manager(1, replaceDrained, Strategy(v1.RecreateStrategy)), Pod(0)), cordoned("node-0")))
	if !strings.Contains(message, "never let a pod and its replacement run") {
		t.Errorf("Recreate: %s", message)
	}
	late := Observe(Manager(1, replaceOld, leavesForAge("web-0")), Pod(0, aged(2*time.Hour)), Pod(1, aged(10*time.Minute), Replacing("web-0"), NotReady))
	told, message = tell(late)
	if ReasonIn(&told, v1.ConditionReady) != v1.ReasonReplacementLate || !strings.Contains(message, "web-1") {
		t.Errorf("a late replacement: %s: %s", ReasonIn(&told, v1.ConditionReady), message)
	}
	if steps := status.Transitions(late.Manager, &v1.PodManagerStatus{}, &told); !slices.ContainsFunc(steps, func(s status.Transition) bool { return s.Reason == v1.EventReplacementLate }) {
		t.Errorf("events %v", steps)
	}
	noRoom := func(p *corev1.Pod) {
		OnNode("")(p)
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/5 nodes are available",
			LastTransitionTime: metav1.NewTime(Now.Add(-2 * time.Minute)),
		}}
	}
	blocked := With(Observe(Manager(1, replaceDrained), Pod(0), Pod(1, noRoom)), cordoned("node-0"))
	told, message = tell(blocked)
	if ReasonIn(&told, v1.ConditionReady) != v1.ReasonReplacementBlocked || !strings.Contains(message, "0/5 nodes") || !strings.Contains(message, "make room") {
		t.Errorf("no room: %s: %s", ReasonIn(&told, v1.ConditionReady), message)
	}
	if steps := status.Transitions(blocked.Manager, &v1.PodManagerStatus{}, &told); !slices.ContainsFunc(steps, func(s status.Transition) bool { return s.Reason == v1.EventReplacementBlocked }) {
		t.Errorf("no room: events %v", steps)
	}
	forbidden := With(Observe(Manager(1, replaceDrained), Pod(0)), func(o *Observed) { o.NodesForbidden = true })
	if told, _ = tell(forbidden); ReasonIn(&told, v1.ConditionMisconfigured) != v1.ReasonNodesForbidden {
		t.Errorf("without the right to watch nodes: %v", told.Conditions)
	}
}
