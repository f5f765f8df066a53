package plan_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// A disrupted pod is replaced like a failed one.
func TestDisruptedPodsAreReplaced(t *testing.T) {
	evictedAfter := func(index int, ago time.Duration, failures, disruptions string) *corev1.Pod {
		p := FailedPod(index, ago, 0, Evicted)
		p.Annotations = map[string]string{v1.AnnotationFailuresBefore: failures, v1.AnnotationDisruptionsBefore: disruptions}
		return p
	}
	tests := map[string]struct {
		pod                   *corev1.Pod
		failures, disruptions int
		waits                 bool
	}{
		"the first disruption: replaced at once":            {pod: evictedAfter(0, time.Second, "", ""), failures: 1, disruptions: 1},
		"the second disruption: backoff":                    {pod: evictedAfter(0, time.Second, "1", "1"), waits: true},
		"the second disruption: replaced after the backoff": {pod: evictedAfter(0, 15*time.Second, "1", "1"), failures: 2, disruptions: 2},
		"a disruption after a failure":                      {pod: evictedAfter(0, 15*time.Second, "1", ""), failures: 2, disruptions: 1},
		"a failure after a disruption":                      {pod: FailedPod(0, 15*time.Second, 0, After(1), func(p *corev1.Pod) { p.Annotations[v1.AnnotationDisruptionsBefore] = "1" }), failures: 2, disruptions: 1},
		"a disruption after a long life":                    {pod: FailedPod(0, time.Second, 0, Evicted, CreatedAgo(time.Hour), After(5)), failures: 1, disruptions: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(Observe(Manager(1), test.pod))
			if test.waits {
				if len(plan.Create) > 0 || plan.Waiting == nil {
					t.Errorf("the replacement does not wait for the backoff: %v", ActionsOf(plan))
				}
				return
			}
			if len(plan.Create) != 1 {
				t.Fatalf("the disrupted pod is not replaced: %v", ActionsOf(plan))
			}
			made := plan.Create[0]
			if made.FailuresBefore != test.failures || made.DisruptionsBefore != test.disruptions || made.Failed != test.pod {
				t.Errorf("the replacement records %d failures, of which %d were disruptions, and replaces %v", made.FailuresBefore, made.DisruptionsBefore, made.Failed)
			}
		})
	}
}

// A failed pod and a disrupted one have finished, and one pod is missing. The new pod stands for the failure, whichever of the two it replaces,
// because no other pod will.
func TestReplacementStandsForTheFailure(t *testing.T) {
	failed, disrupted := FailedPod(2, 2*time.Minute, 0, V2), FailedPod(3, time.Second, 0, V2, Evicted)
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want []types.UID
	}{
		"the failed one is alone":    {pods: []*corev1.Pod{failed}, want: []types.UID{"uid-web-2"}},
		"the disrupted one is alone": {pods: []*corev1.Pod{disrupted}, want: []types.UID{"uid-web-3", "uid-web-2"}},
		"the disrupted one is newer": {pods: []*corev1.Pod{failed, disrupted}, want: []types.UID{"uid-web-3", "uid-web-2"}},
		"it is marked for deletion":  {pods: []*corev1.Pod{Pod(2, V2, ReadyFor(time.Second), Marked)}, want: []types.UID{"uid-web-2"}},
		"its replacement has finished before the status named it": {
			pods: []*corev1.Pod{FailedPod(3, time.Second, 0, V2, Evicted, Replacing("web-2", "web-9"))}, want: []types.UID{"uid-web-3", "uid-web-2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := Next(3, Paused, Limits("1", "0"))
			failing := []v1.FailingPod{{Name: "web-2", UID: "uid-web-2", Since: metav1.NewTime(Now)}}
			m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Failing: failing}
			plan := Make(RollingOut(m, append([]*corev1.Pod{Pod(0), Pod(1)}, test.pods...)...))
			if len(plan.Create) != 1 || !slices.Equal(plan.Create[0].Replaces, test.want) {
				t.Errorf("creates %+v, want one pod that replaces %v", plan.Create, test.want)
			}
		})
	}
}

// Two pods have failed. One of them is gone, and each of the two new pods stands for one failure.
func TestEachReplacementStandsForOneFailure(t *testing.T) {
	m := Next(3, MaxFailed("3"), Limits("0", "2"))
	m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name}
	for _, name := range []string{"web-1", "web-2"} {
		m.Status.Rollout.Failing = append(m.Status.Rollout.Failing, v1.FailingPod{Name: name, UID: types.UID("uid-" + name), Since: metav1.NewTime(Now)})
	}
	var got [][]types.UID
	for _, creation := range Make(RollingOut(m, Pod(0), FailedPod(2, 2*time.Minute, 0, V2))).Create {
		got = append(got, creation.Replaces)
	}
	if want := [][]types.UID{{"uid-web-2"}, {"uid-web-1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("replace %v, want %v", got, want)
	}
}

// Two leaving pods have different revisions. A pod of the older revision has replaced the one of the newer revision, and has failed. The next pod of the
// older revision replaces the other leaving pod.
func TestReplacementOfLeavingPodKeepsRevision(t *testing.T) {
	replacesNewer := Annotated(v1.AnnotationReplaces, "uid-web-1")
	o := superseding(Next(2, Limits("2", "0"), replaceDrained, Paused), Pod(0), Pod(1, OfImage("v0")), FailedPod(2, 2*time.Minute, 0, replacesNewer))
	got := map[string][]types.UID{}
	for _, creation := range Make(With(o, cordoned("node-0", "node-1"))).Create {
		got[creation.Revision.Template().Spec.Containers[0].Image] = creation.Replaces
	}
	if want := map[string][]types.UID{"nginx": {"uid-web-0"}, "v0": {"uid-web-1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("replace %v, want %v", got, want)
	}
}

// A node that rejects all pods is not flooded with pods. Neither is one that rejects the replacement of a leaving pod, which has an older revision than
// other missing pods would have.
func TestAlwaysRejected(t *testing.T) {
	older := superseding(Next(2, Limits("1", "0"), replaceDrained, Paused), Pod(0), Pod(1, OfImage("v0")))
	for name, o := range map[string]Observed{"a missing pod": Observe(Manager(1)), "a leaving pod": With(older, cordoned("node-0"))} {
		t.Run(name, func(t *testing.T) { checkRejected(t, o) })
	}
}

// checkRejected checks that few pods are created in an hour if all of them are rejected.
func checkRejected(t *testing.T, o Observed) {
	t.Helper()
	created := 0
	for second := range 3600 {
		o.Now = Now.Add(time.Duration(second) * time.Second)
		plan := Make(o)
		for _, deletion := range plan.Delete {
			o.Pods = without(o.Pods, deletion.Pod)
		}
		for _, creation := range plan.Create {
			p := NewPod(o.Manager, creation)
			p.UID, p.CreationTimestamp.Time = uuid.NewUUID(), o.Now
			Stopped("OutOfcpu", "")(p)
			o.Pods = append(o.Pods, p)
			created++
			if creation.FailuresBefore != creation.DisruptionsBefore {
				t.Fatalf("%d failures, %d disruptions", creation.FailuresBefore, creation.DisruptionsBefore)
			}
		}
	}
	if limit := 13; created > limit {
		t.Errorf("%d pods created in an hour, want at most %d", created, limit)
	}
}
