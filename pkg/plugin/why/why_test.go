package why_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	. "github.com/mycompany/podmanager/pkg/plugin/why"
)

// seen returns a snapshot of an observation, with the status that the controller would write.
func seen(o plan.Observed) snapshot.Snapshot {
	o.Manager.Status, _ = status.Compute(Planned(o))
	return snapshot.New(o.Manager, o.Pods, o.Revisions, nil, o.Now)
}

// of returns web in a rollout. Its last pod is of the new revision.
func of(last func(*corev1.Pod), change ...func(*v1.PodManager)) snapshot.Snapshot {
	m := Manager(3, append(change, Image("v2"), Limits("0", "1"))...)
	o := RollingOut(m, Pod(0), Pod(1), Pod(2, OfImage("v2"), last))
	m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name}
	return seen(o)
}

// late returns web in a rollout that has missed its deadline.
func late() snapshot.Snapshot {
	return seen(RollingOut(Next(3, Limits("0", "1"), Rolled(2, 10*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, NotReady)))
}

// refusedFor returns a snapshot of an observation whose pods the API server refuses.
func refusedFor(o plan.Observed, reason string) snapshot.Snapshot {
	o.Manager.Status.ObservedGeneration = o.Manager.Generation
	o.Manager.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "no"}}
	return snapshot.New(o.Manager, o.Pods, o.Revisions, nil, o.Now)
}

// toZero returns web with no pods, and a new revision that has failed before.
func toZero() snapshot.Snapshot {
	o := RollingOut(Manager(0, Image("v2")))
	failed := Stored(o.Manager, 9)
	failed.Annotations = map[string]string{v1.AnnotationFailed: "true"}
	o.Revisions = append(slices.DeleteFunc(o.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == failed.Name }), failed)
	return seen(o)
}

func notStored(s snapshot.Snapshot) snapshot.Snapshot {
	s.Manager.Status.Conditions = append(s.Manager.Status.Conditions,
		metav1.Condition{Type: v1.ConditionReplicaFailure, Status: metav1.ConditionTrue, Reason: v1.ReasonFailedStore})
	return s
}

func noImage(p *corev1.Pod) {
	Container(Waiting("ErrImagePull", "not found"), corev1.ContainerState{})(p)
}

// endless makes a pod look as if it is terminating, and should have been gone an hour ago.
func endless(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Now.Add(-time.Hour)} }

func kept(p *corev1.Pod) { p.Finalizers = []string{"example.com/a"} }

func TestFind(t *testing.T) {
	recreate, complete := Strategy(v1.RecreateStrategy), func(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }
	tests := map[string]struct {
		snapshot              snapshot.Snapshot
		cause, evidence, next string
		pod, container        string
		hasLog, previous      bool
	}{
		"all is well": {snapshot: seen(Observe(Manager(3), Pods3()...)), cause: "Nothing blocks it: 3 of 3 pods available."},
		"halted": {snapshot: of(Crashing), cause: "The rollout is halted, because pods of the new revision fail: halted with 1 pod updated",
			evidence: "pod web-2: container app: CrashLoopBackOff: Error, exit code 3",
			next:     "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl pm retry web -n ns", pod: "web-2", container: "app", hasLog: true, previous: true},
		"halted, only in place": {snapshot: of(Crashing, InPlace(v1.InPlaceOnly, 0)), cause: "The rollout is halted",
			evidence: "pod web-2: ", next: "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns", pod: "web-2", container: "app", hasLog: true, previous: true},
		"an image that is not there": {snapshot: of(Container(Waiting("ErrImagePull", "not found"), corev1.ContainerState{})),
			cause: "The rollout is halted", evidence: "pod web-2: container app: ErrImagePull: not found",
			next: "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl pm retry web -n ns", pod: "web-2", container: "app"},
		"rolled back": {snapshot: of(ReadyFor(time.Hour), OnFailure(v1.RollbackOnFailure), func(m *v1.PodManager) {
			m.Status.FailedRevision = RevisionFor(Manager(3, Image("v2"))).Name
		}), cause: "The new revision has failed and was rolled back: ",
			next: "kubectl pm set image web app=IMAGE -n ns|kubectl pm retry web -n ns|kubectl pm undo web -n ns"},
		"under way": {snapshot: of(Phase(corev1.PodPending)), cause: "The rollout is under way: 1 of 3 pods updated, 2 available; web-2: ",
			evidence: "pod web-2: ", next: "kubectl pm get web -w -n ns|kubectl describe pod web-2 -n ns", pod: "web-2"},
		"late": {snapshot: late(), cause: "The rollout makes no progress: 1 of 3 pods updated, 2 available; no further pod of revision ",
			evidence: "pod web-2: running", pod: "web-2",
			next: "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl pm retry web -n ns"},
		"it crashes again and again, and was ready for a moment": {
			snapshot: snapshot.New(seen(Observe(Manager(2), Pod(0), Pod(1))).Manager, []*corev1.Pod{Pod(0), Pod(1, Crashing)}, nil, nil, Now),
			cause:    "The pods are available, but not all of them work: 2 of 2 pods available.", evidence: "pod web-1: container app: CrashLoopBackOff",
			next: "kubectl describe pod web-1 -n ns|kubectl logs web-1 -c app --previous -n ns", pod: "web-1", container: "app", hasLog: true, previous: true,
		},
		"paused": {snapshot: of(ReadyFor(time.Hour), Paused), cause: "The rollout is paused: paused, 1 of 3 pods updated.", next: "kubectl pm resume web -n ns"},
		"paused and halted": {snapshot: of(Crashing, Paused),
			cause:    "The rollout is paused and also halted, because pods of the new revision fail: paused, 1 of 3 pods updated.",
			evidence: "pod web-2: container app: CrashLoopBackOff: Error, exit code 3",
			next:     "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl pm resume web -n ns", pod: "web-2", container: "app", hasLog: true, previous: true},
		"paused and halted, with all pods updated": {
			snapshot: seen(RollingOut(Next(2, Limits("0", "1"), Paused), Pod(0, V2), Pod(1, V2, Crashing))),
			cause:    "The rollout is paused and also halted, because pods of the new revision fail: every pod is updated to ",
			evidence: "pod web-1: container app: CrashLoopBackOff: Error, exit code 3",
			next:     "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl pm resume web -n ns", pod: "web-1", container: "app", hasLog: true, previous: true},
		"a first image that is not there": {snapshot: seen(Observe(Manager(1), Pod(0, noImage))), cause: "Not all pods are ready: ", evidence: "pod web-0: container app: ErrImagePull",
			next: "kubectl describe pod web-0 -n ns|kubectl pm set image web app=IMAGE -n ns", pod: "web-0", container: "app"},
		"a container without its configuration": {snapshot: seen(Observe(Manager(1), Pod(0, Container(Waiting("CreateContainerConfigError", "no secret"), corev1.ContainerState{})))),
			cause: "Not all pods are ready: ", evidence: "pod web-0: container app: CreateContainerConfigError",
			next: "kubectl describe pod web-0 -n ns", pod: "web-0", container: "app"},
		"a new image that is not there, not halted": {snapshot: of(noImage, OnFailure(v1.ContinueOnFailure)), cause: "The rollout is under way: ",
			evidence: "pod web-2: container app: ErrImagePull",
			next:     "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl describe pod web-2 -n ns", pod: "web-2", container: "app"},
		"an invalid first revision": {snapshot: refusedFor(Observe(Manager(3)), v1.ReasonInvalidPod), cause: "The API server refuses the pod: no.",
			evidence: "", next: "kubectl edit pm web -n ns"},
		"an invalid second revision": {snapshot: refusedFor(RollingOut(Manager(3, Image("v2")), Pods3()...), v1.ReasonInvalidPod), cause: "The API server refuses the pod: no.",
			next: "kubectl pm diff web -n ns|kubectl pm undo web -n ns|kubectl edit pm web -n ns"},
		"a revision that cannot be stored": {snapshot: notStored(refusedFor(Observe(Manager(3)), v1.ReasonForbidden)),
			cause: "The controller cannot store the revision: no.", next: "kubectl pm check web -n ns"},
		"partition": {snapshot: of(ReadyFor(time.Hour), Partition("2")), cause: "The partition holds the rollout: ",
			next: "kubectl pm promote web -n ns"},
		"not ready": {snapshot: seen(Observe(Manager(3), Pod(0), Pod(1), Pod(2, Container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{})))),
			cause: "Not all pods are ready: 2 of 3 pods ready; web-2: container app: not ready.", evidence: "pod web-2: container app: not ready",
			next: "kubectl describe pod web-2 -n ns|kubectl logs web-2 -c app -n ns", pod: "web-2", container: "app", hasLog: true},
		"being deleted": {snapshot: seen(Observe(Manager(3, Deleting), Pods3()...)), cause: "The PodManager is being deleted, and waits for its pods: ",
			next: "kubectl get pods -l podmanager=web -n ns"},
		"pods are created": {snapshot: seen(Observe(Manager(3), Pod(0), Pod(1))), cause: "Pods are being created: 2 of 3 pods exist.", next: "kubectl pm get web -w -n ns"},
		"another pod terminates first": {snapshot: seen(Observe(Manager(3, complete), Pod(0), Pod(1), Pod(2, Terminating))),
			cause: "Pods are created when others have terminated: 2 of 3 pods exist.", next: "kubectl pm get web -w -n ns"},
		"another pod never terminates": {snapshot: seen(Observe(Manager(3, complete), Pod(0), Pod(1), Pod(2, endless, kept))),
			cause:    "Pods do not terminate, and other pods wait for them: 2 of 3 pods exist; web-2 should have been gone by 2026-01-02T02:04:05Z",
			evidence: "pod web-2: terminating, and should have been gone by 2026-01-02T02:04:05Z: its finalizers keep it (example.com/a)",
			next:     "kubectl describe pod web-2 -n ns|kubectl get node node-2", pod: "web-2"},
		"old pods never terminate": {snapshot: seen(RollingOut(Manager(1, Image("v2"), recreate), Pod(0, endless))),
			cause:    "Pods do not terminate, and other pods wait for them: 0 of 1 pod exists; web-0 should have been gone by 2026-01-02T02:04:05Z",
			evidence: "pod web-0: terminating, and should have been gone by 2026-01-02T02:04:05Z: check whether node node-0 is ready",
			next:     "kubectl describe pod web-0 -n ns|kubectl get node node-0", pod: "web-0"},
		"one never terminates, and none waits for it": {snapshot: seen(Observe(Manager(3), Pod(0), Pod(1), Pod(3), Pod(2, endless, kept))),
			cause: "Nothing blocks it: 3 of 3 pods available.", evidence: "pod web-2: terminating, and should have been gone by 2026-01-02T02:04:05Z", pod: "web-2"},
		"one never terminates, and another one fails": {snapshot: seen(Observe(Manager(2), Pod(0), Pod(1, Crashing), Pod(2, endless))),
			cause: "Not all pods are ready: ", evidence: "pod web-1: container app: CrashLoopBackOff: Error, exit code 3|pod web-2: terminating, and should have been gone by",
			next: "kubectl describe pod web-1 -n ns|kubectl logs web-1 -c app --previous -n ns", pod: "web-1", container: "app", hasLog: true, previous: true},
		"being deleted, and one never terminates": {snapshot: seen(Observe(Manager(3, Deleting), Pod(0, endless))), cause: "The PodManager is being deleted, and waits for its pods: ",
			evidence: "pod web-0: terminating, and should have been gone by", next: "kubectl get pods -l podmanager=web -n ns", pod: "web-0"},
		"not seen by a controller": {snapshot: snapshot.New(Manager(3, func(m *v1.PodManager) { m.Status.ObservedGeneration = -1 }), nil, nil, nil, Now),
			cause: "The controller has not handled the last change: no controller has reported on it yet.", next: "kubectl pm check web -n ns"},
		"pods, but no report yet": {snapshot: snapshot.New(Manager(3, func(m *v1.PodManager) { m.Status.ObservedGeneration = -1 }), Pods3(), nil, nil, Now),
			cause: "A new PodManager: the controller is creating its pods, and has yet to report on them.", next: "kubectl pm get web -w -n ns"},
		"a setting without effect": {snapshot: seen(Observe(Manager(3, MaxFailed("3"), Limits("0", "1")), Pods3()...)),
			cause: "Nothing blocks it, but a setting cannot take effect: 3 of 3 pods available.", evidence: "Misconfigured: ", next: "kubectl edit pm web -n ns"},
		"OnDelete, and the new revision crashes": {snapshot: of(Crashing, Strategy(v1.OnDeleteStrategy)), cause: "A pod does not work, and with OnDelete only a user replaces pods: ",
			evidence: "pod web-2: ", pod: "web-2", container: "app", hasLog: true, previous: true,
			next: "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns|kubectl describe pod web-2 -n ns|kubectl logs web-2 -c app --previous -n ns"},
		"OnDelete, and the revision that crashes is undone": {snapshot: seen(Observe(Manager(3, Strategy(v1.OnDeleteStrategy)), Pod(0), Pod(1), Pod(2, OfImage("v2"), Crashing))),
			cause: "A pod does not work, and with OnDelete only a user replaces pods: ", evidence: "pod web-2: ", pod: "web-2", container: "app", hasLog: true, previous: true,
			next: "kubectl delete pod web-2 -n ns"},
		"scaled to zero, and the revision has failed": {snapshot: toZero(), cause: "Nothing runs, but the revision of the template has failed, and scaling up brings it back: ",
			next: "kubectl pm undo web -n ns|kubectl pm set image web app=IMAGE -n ns"},
	}
	refusals := map[string]struct{ message, next string }{
		"a quota": {`0 of 3 pods exist; pods "web-0" is forbidden: exceeded quota: small, requested: pods=1`, "kubectl describe quota -n ns"},
		"a quota for the surge": {`3 of 3 pods exist; pods "web-3" is forbidden: exceeded quota: small, requested: pods=1; quota small has no room for the surge: raise it, or set maxUnavailable: 1 and maxSurge: 0`,
			`kubectl describe quota -n ns|kubectl patch pm web --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}}}' -n ns`},
		"a ServiceAccount that is missing": {`0 of 3 pods exist; pods "web-0" is forbidden: error looking up service account ns/robot: serviceaccount "robot" not found`,
			"kubectl get serviceaccount robot -n ns"},
		"Pod Security": {`0 of 3 pods exist; pods "web-0" is forbidden: violates PodSecurity`, "kubectl get pm web -o jsonpath='{.spec.template}' -n ns"},
	}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			m := Manager(3)
			m.Spec.Image, m.Spec.Template = "", &corev1.PodTemplateSpec{Spec: corev1.PodSpec{ServiceAccountName: "robot"}}
			m.Status = v1.PodManagerStatus{ObservedGeneration: m.Generation, Conditions: []metav1.Condition{
				{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden, Message: refusal.message},
				{Type: v1.ConditionReplicaFailure, Status: metav1.ConditionTrue, Reason: v1.ReasonFailedCreate},
			}}
			got := Find(snapshot.New(m, nil, nil, nil, Now))
			if strings.Join(got.Next, "|") != refusal.next {
				t.Errorf("next is %q, want %q", got.Next, refusal.next)
			}
			if want := ". Once the reason is gone, wait: the controller tries again by itself, within about a minute."; !strings.HasSuffix(got.Cause, want) {
				t.Errorf("the cause is %q, and does not end with %q", got.Cause, want)
			}
		})
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Find(test.snapshot)
			if !strings.HasPrefix(got.Cause, test.cause) || !strings.HasPrefix(strings.Join(got.Evidence, "|"), test.evidence) ||
				strings.Join(got.Next, "|") != test.next {
				t.Errorf("got %+v", got)
			}
			if got.Pod != test.pod || got.Container != test.container || got.HasLog != test.hasLog || got.Previous != test.previous {
				t.Errorf("to look at: %+v", got)
			}
		})
	}
}

// Find has an explanation for every reason of this controller, and a fallback for reasons of a later one.
func TestEveryReasonIsKnown(t *testing.T) {
	for _, reason := range []string{
		v1.ReasonAllAvailable, v1.ReasonBaking, v1.ReasonScaledToZero, v1.ReasonTooFew, v1.ReasonTooMany, v1.ReasonPodsNotReady, v1.ReasonMinReady,
		v1.ReasonPartition, v1.ReasonRollingOut, v1.ReasonPaused, v1.ReasonHalted, v1.ReasonRolledBack, v1.ReasonDeadline, v1.ReasonNotInPlace,
		v1.ReasonTerminating, v1.ReasonBackOff, v1.ReasonUpdateOnDelete, v1.ReasonInvalidPod, v1.ReasonForbidden, v1.ReasonFailedCreate,
		v1.ReasonFailedDelete, v1.ReasonFailedInPlaceUpdate, v1.ReasonFailedStore, v1.ReasonFailedClaim, v1.ReasonFailedFinal,
		v1.ReasonInternalError, v1.ReasonUndecodable,
	} {
		m := Manager(3)
		m.Status = v1.PodManagerStatus{ObservedGeneration: 7, Conditions: []metav1.Condition{{Type: v1.ConditionReady, Reason: reason, Message: "x"}}}
		if got := Find(snapshot.New(m, nil, nil, nil, Now)); strings.HasPrefix(got.Cause, "The PodManager is not ready") {
			t.Errorf("%s: %s", reason, got.Cause)
		}
	}
	m := Manager(3)
	m.Status = v1.PodManagerStatus{ObservedGeneration: 7, Conditions: []metav1.Condition{{Type: v1.ConditionReady, Reason: "Novel", Message: "x"}}}
	if got := Find(snapshot.New(m, nil, nil, nil, Now)); got.Cause != "The PodManager is not ready: Novel: x." {
		t.Errorf("a reason of a later controller: %s", got.Cause)
	}
}

func TestEvidence(t *testing.T) {
	event := func(kind, about, reason string, ago time.Duration) corev1.Event {
		return corev1.Event{Type: kind, Reason: reason, Message: "said " + reason, InvolvedObject: corev1.ObjectReference{Name: about},
			LastTimestamp: metav1.NewTime(Now.Add(-ago))}
	}
	s := of(Crashing)
	answer := Find(s)
	answer.AddExit(s.Pods, s.Now)
	answer.AddEvent([]corev1.Event{
		event(corev1.EventTypeWarning, "web", "RolloutHalted", time.Second),
		event(corev1.EventTypeWarning, "web-2", "BackOff", time.Minute),
		event(corev1.EventTypeWarning, "web-2", "Older", time.Hour),
		event(corev1.EventTypeNormal, "web-2", "Pulled", time.Second),
		event(corev1.EventTypeWarning, "other", "Other", time.Second),
	}, Now)
	answer.AddLog("1\n2\n3\n4\n5\npanic: no database\n")
	got := text.Join(answer.Lines(text.Style{}))
	for _, want := range []string{
		"container app: Error, exit code 3", "restart count 2", "event BackOff, 60s ago, about web-2: said BackOff",
		"Last lines of container app\n  2\n  3\n  4\n  5\n  panic: no database\n", "\nNext\n  kubectl pm undo web -n ns\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Other") || strings.Contains(got, "Pulled") {
		t.Errorf("events of another pod, or that are no warnings, are shown:\n%s", got)
	}
}

// An event about the PodManager is shown as evidence only if it belongs to the present state.
func TestStaleEvents(t *testing.T) {
	started := func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{StartedAt: &metav1.Time{Time: Now.Add(-time.Minute)}}
	}
	under := func(reason string, changes ...func(*v1.PodManager)) snapshot.Snapshot {
		return refusedFor(Observe(Manager(3, changes...), Pods3()...), reason)
	}
	tests := map[string]struct {
		snapshot snapshot.Snapshot
		event    string
		ago      time.Duration
		want     bool
	}{
		"halted":                         {under(v1.ReasonHalted), v1.EventHalted, time.Second, true},
		"halted, and paused":             {of(Crashing, Paused), v1.EventHalted, time.Second, true},
		"halted before":                  {under(v1.ReasonRollingOut), v1.EventHalted, time.Second, false},
		"rolled back":                    {under(v1.ReasonRolledBack), v1.EventRolledBack, time.Second, true},
		"rolled back before":             {under(v1.ReasonTooFew), v1.EventRolledBack, time.Second, false},
		"late":                           {late(), v1.EventDeadline, time.Second, true},
		"late before":                    {under(v1.ReasonRollingOut), v1.EventDeadline, time.Second, false},
		"a refusal":                      {under(v1.ReasonTooFew), v1.EventFailedCreate, time.Hour, true},
		"a refusal during the rollout":   {under(v1.ReasonRollingOut, started), v1.EventFailedCreate, time.Second, true},
		"a refusal before the rollout":   {under(v1.ReasonRollingOut, started), v1.EventFailedCreate, time.Hour, false},
		"a refusal, and nothing is left": {under(v1.ReasonAllAvailable), v1.EventFailedCreate, time.Second, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := Find(test.snapshot)
			answer.AddEvent([]corev1.Event{{Type: corev1.EventTypeWarning, Reason: test.event, InvolvedObject: corev1.ObjectReference{Name: "web"},
				LastTimestamp: metav1.NewTime(Now.Add(-test.ago))}}, Now)
			if got := strings.Contains(strings.Join(answer.Evidence, "|"), "event "+test.event); got != test.want {
				t.Errorf("the event is shown: %v, in %q", got, answer.Evidence)
			}
		})
	}
}

// A user who may not read pods is told so, and gets the controller's message.
func TestFindWithoutPods(t *testing.T) {
	s := of(Crashing)
	got := Find(snapshot.New(s.Manager, nil, nil, []string{"pods"}, s.Now))
	if !strings.Contains(got.Cause, "exit code 3") || strings.Join(got.Evidence, "") != "you may not read pods in namespace ns, so more is not known" {
		t.Errorf("got %+v", got)
	}
}
