package rollout_test

import (
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
)

// between is the release between the current one, with the image nginx, and the new one.
var between = OfImage("v1.5")

// withBetween stores the release in between.
func withBetween(o *plan.Observed) {
	stored := Stored(Manager(0, Image("v1.5")), 2)
	o.Revisions[1].Revision = 3
	o.Revisions = append(o.Revisions, stored)
}

// made counts the pods that a plan creates, by the image of their revision.
func made(decided plan.Plan) map[string]int {
	count := map[string]int{}
	for _, c := range decided.Create {
		count[c.Revision.Template().Spec.Containers[0].Image]++
	}
	return count
}

// Running pods are left alone, whether their revision is good or not. Missing pods of the old side are created from the newest revision that runs
// there and has not failed. They are created from the current revision only if no such pod is left, or in a rollback.
func TestWhatRunsIsLeftAlone(t *testing.T) {
	one := Limits("0", "1")
	failed := func(o *plan.Observed) { o.Revisions[2].Annotations = map[string]string{v1.AnnotationFailed: "true"} }
	pods := func(count int, change ...func(*corev1.Pod)) (all []*corev1.Pod) {
		for i := range count {
			all = append(all, Pod(i, change...))
		}
		return all
	}
	tests := map[string]struct {
		observed plan.Observed
		want     map[string]int
		deleted  int
	}{
		"a canary beside a release that is not good yet": {
			observed: With(RollingOut(Next(10, one, Partition("90%")), pods(10, between)...), withBetween), want: map[string]int{"v2": 1}, deleted: 1,
		},
		"a lost pod of it": {
			observed: With(RollingOut(Next(10, one, Partition("90%")), append(pods(8, between), Pod(9, V2))...), withBetween), want: map[string]int{"v1.5": 1},
		},
		"one that has failed": {
			observed: With(RollingOut(Next(10, one, Partition("90%")), append(pods(8, between), Pod(9, V2))...), withBetween, failed), want: map[string]int{"nginx": 1},
		},
		"beside an older one that runs": {
			observed: With(RollingOut(Next(4, one, Partition("3")), Pod(0), Pod(1, between), Pod(3, V2)), withBetween), want: map[string]int{"v1.5": 1},
		},
		"a partition that is raised": {
			observed: With(RollingOut(Next(4, one, Partition("3")), Pod(0, between), Pod(1, between), Pod(2, V2), Pod(3, V2)), withBetween),
			want:     map[string]int{"v1.5": 1}, deleted: 1,
		},
		"the next canary takes the place of the one before": {
			observed: With(RollingOut(Next(4, one, Partition("3")), Pod(0), Pod(1, between), Pod(2), Pod(3)), withBetween), want: map[string]int{"v2": 1}, deleted: 1,
		},
		"back to the good release: no partition holds that": {
			observed: With(Observe(Manager(3, one, Partition("2")), Pod(0), Pod(1, between), Pod(2)), func(o *plan.Observed) {
				o.Revisions = append(o.Revisions, Stored(Manager(0, Image("v1.5")), 0))
			}),
			want: map[string]int{"nginx": 1}, deleted: 1,
		},
		"no old pod is left": {observed: With(RollingOut(Next(2, one, Partition("100%"))), withBetween), want: map[string]int{"nginx": 2}},
		"paused":             {observed: With(RollingOut(Next(3, one, Paused), Pod(0, between), Pod(1, between)), withBetween), want: map[string]int{"v1.5": 1}},
		"rolled back, all return to the good one": {
			observed: With(RollingOut(Next(3, Limits("0", "100%"), Rollback, FailedNow), Pod(0, between), Pod(1, V2), Pod(2, V2)), withBetween),
			want:     map[string]int{"nginx": 3}, deleted: 3,
		},
		"revisions that are lost": {
			observed: With(RollingOut(Next(4, one, Partition("2")), Pod(0, between), Pod(1, between), Pod(2, between), Pod(3, V2)), func(o *plan.Observed) {
				o.Revisions, o.Manager.Status.CurrentRevision = o.Revisions[1:2], ""
			}),
			want: map[string]int{"v2": 1}, deleted: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decided := plan.Make(test.observed)
			got := made(decided)
			for _, d := range decided.Delete {
				if d.Pod.Spec.Containers[0].Image == "nginx" && d.Why.IsRollout() && strings.Contains(name, "canary takes") {
					t.Errorf("the good pod %s is deleted", d.Pod.Name)
				}
			}
			if len(got) != len(test.want) || len(decided.Delete) != test.deleted {
				t.Errorf("made %v, want %v; deleted %d, want %d", got, test.want, len(decided.Delete), test.deleted)
			}
			for image, count := range test.want {
				if got[image] != count {
					t.Errorf("made %v, want %v", got, test.want)
				}
			}
		})
	}
}

// With InPlaceOnly, a surplus pod that cannot be updated in place is deleted before a pod that is already up to date.
func TestInPlaceOnlyKeepsWhatIsUpdated(t *testing.T) {
	stranger := func(p *corev1.Pod) { p.Labels[v1.LabelRevision] = "unknown" }
	o := RollingOut(Next(2, Limits("0", "1"), InPlace(v1.InPlaceOnly, 0)), Pod(0, V2), Pod(1, V2), Pod(2, stranger))
	if moves := ActionsOf(plan.Make(o)); moves != "-2" {
		t.Errorf("the plan is %q, want it to delete the pod of an unknown revision", moves)
	}
}

// The first release serves. Before its bake time is over, the user rolls out a second one, which crashes. A rollback returns to the first release.
// None of its pods is deleted before the status names the first release as the current revision.
func TestFirstReleaseIsSuperseded(t *testing.T) {
	for _, strategy := range []v1.UpdateStrategyType{v1.RollingUpdateStrategy, v1.RecreateStrategy} {
		young := ReadyFor(time.Second)
		m := Next(3, Limits("0", "1"), Rollback, Strategy(strategy))
		o := RollingOut(m, Pod(0, young), Pod(1, young), Pod(2, young))
		m.Status.CurrentRevision = ""
		if moves := ActionsOf(plan.Make(o)); moves != "" {
			t.Fatalf("%s: plans %s before the status names the revision to return to", strategy, moves)
		}
		m.Status, _ = status.Compute(ReportOf(o))
		if m.Status.CurrentRevision != o.Revisions[0].Name {
			t.Fatalf("%s: the current revision is %q", strategy, m.Status.CurrentRevision)
		}
		if decided := plan.Make(o); len(decided.Delete) == 0 {
			t.Errorf("%s: the rollout does not begin", strategy)
		}
		o.Pods = []*corev1.Pod{Pod(0), Pod(1), Pod(3, V2, Crashing)}
		for range 3 {
			m.Status, _ = status.Compute(ReportOf(o))
			o.Now = o.Now.Add(time.Minute)
		}
		if m.Status.FailedRevision != o.Revisions[1].Name {
			t.Errorf("%s: the failed revision is %q", strategy, m.Status.FailedRevision)
		}
	}
}

// The pods of the first release are in a crash loop, and ready at the moment. It does not become the revision to return to: rollbacks would return to
// what has failed.
func TestCrashingFirstReleaseIsNotGood(t *testing.T) {
	named := func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{Revision: Stored(Manager(0), 1).Name, Failing: []v1.FailingPod{{Name: "web-0", UID: "uid-gone", Since: metav1.NewTime(Now)}}}
	}
	for name, test := range map[string]struct {
		crashed time.Duration
		change  func(*v1.PodManager)
		isGood  bool
	}{
		"crashed a moment ago":             {crashed: time.Second, change: MaxFailed("1")},
		"crashed 29 s ago":                 {crashed: 29 * time.Second, change: MaxFailed("1")},
		"recovered":                        {crashed: 31 * time.Second, change: MaxFailed("1"), isGood: true},
		"the threshold is higher":          {crashed: time.Second, change: MaxFailed("2"), isGood: true},
		"a failed pod was deleted":         {crashed: time.Hour, change: named},
		"failures do not stop the rollout": {crashed: time.Second, change: OnFailure(v1.ContinueOnFailure)},
	} {
		t.Run(name, func(t *testing.T) {
			m := Next(3, Limits("0", "1"), Rollback, test.change)
			o := RollingOut(m, Pod(0, Crashed(3, test.crashed)), Pod(1), Pod(2))
			m.Status.CurrentRevision = ""
			status, again := status.Compute(ReportOf(o))
			if isGood := status.CurrentRevision == o.Revisions[0].Name; isGood != test.isGood {
				t.Errorf("the current revision is %q", status.CurrentRevision)
			}
			if again.Never() && test.crashed < 30*time.Second && !test.isGood {
				t.Error("nothing starts a sync when the pod has recovered")
			}
		})
	}
}

// Failures belong to the revision. Neither a scale-down nor the deletion of failing pods ends a halt, and a client that keeps deleting failing pods
// does not prevent the rollback.
func TestFailuresAreThoseOfTheRevision(t *testing.T) {
	failing := func(ago time.Duration, more ...func(*v1.FailingPod)) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			Rolled(0, 0, 0)(m)
			pod := v1.FailingPod{Name: "web-3", UID: "uid-web-3", Since: metav1.NewTime(Now.Add(-ago))}
			for _, change := range more {
				change(&pod)
			}
			m.Status.Rollout.Failing = []v1.FailingPod{pod}
		}
	}
	ready := func(ago time.Duration) func(*v1.FailingPod) {
		return func(pod *v1.FailingPod) { pod.ReadySince = &metav1.Time{Time: Now.Add(-ago)} }
	}
	one := Limits("1", "0")
	tests := map[string]struct {
		observed plan.Observed
		halted   bool
		failed   bool
		moves    string
	}{
		"a scale-down has taken it":                {observed: RollingOut(Next(3, one, failing(10*time.Second)), Pods3()...), halted: true},
		"deleted, and replaced":                    {observed: RollingOut(Next(3, one, failing(10*time.Second)), append(Pods3(), Pod(4, V2, NotReady, CreatedAgo(time.Second)))...), halted: true},
		"the replacement is up":                    {observed: RollingOut(Next(3, one, failing(10*time.Second)), append(Pods3(), Pod(4, V2, CreatedAgo(time.Second)))...), halted: true},
		"an older pod is no replacement":           {observed: RollingOut(Next(3, one, failing(10*time.Second)), append(Pods3(), Pod(4, V2, CreatedAgo(time.Hour)))...), halted: true},
		"it had recovered":                         {observed: RollingOut(Next(3, Limits("0", "1"), failing(time.Minute, ready(30*time.Second))), Pods3()...), moves: "+3 new, -2"},
		"deleted again and again, rolled back":     {observed: RollingOut(Next(3, one, Rollback, failing(30*time.Second)), append(Pods3(), Pod(9, V2, NotReady, CreatedAgo(time.Second)))...), failed: true},
		"gone, and rolled back":                    {observed: RollingOut(Next(3, one, Rollback, failing(30*time.Second)), Pods3()...), failed: true},
		"all are updated, and one of them took it": {observed: RollingOut(Next(2, one, failing(10*time.Second)), Pod(0, V2), Pod(1, V2)), halted: true},
		"the record is about an earlier revision":  {observed: With(RollingOut(Next(3, Limits("0", "1"), failing(10*time.Second)), Pods3()...), func(o *plan.Observed) { o.Manager.Status.Rollout.Revision = "web-other" }), moves: "+3 new, -2"},
		"no pod is to be updated: nothing to halt": {observed: RollingOut(Next(3, one, Partition("100%"), failing(10*time.Second)), Pods3()...)},
		"a threshold of two, one has failed":       {observed: RollingOut(Next(3, Limits("0", "1"), MaxFailed("2"), failing(10*time.Second)), Pods3()...), moves: "+3 new, -2"},
		"onFailure Continue":                       {observed: RollingOut(Next(3, Limits("0", "1"), OnFailure(v1.ContinueOnFailure), failing(10*time.Second)), Pods3()...), moves: "+3 new, -2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(plan.Make(test.observed)); got != test.moves {
				t.Errorf("moves %q, want %q", got, test.moves)
			}
			got, _ := status.Compute(ReportOf(test.observed))
			if halted := ReasonIn(&got, v1.ConditionReady) == v1.ReasonHalted; halted != test.halted {
				t.Errorf("Ready is %s: %s", ReasonIn(&got, v1.ConditionReady), MessageIn(&got, v1.ConditionReady))
			}
			if (got.FailedRevision != "") != test.failed {
				t.Errorf("the failed revision is %q", got.FailedRevision)
			}
		})
	}
}

// A replacement that has been available for the grace period ends a halt.
func TestReplacementEndsAHalt(t *testing.T) {
	s := Tell(t, Next(3, Limits("1", "0")), Pod(0), Pod(1), Pod(2), Pod(3, V2, Crashing))
	s.After(40 * time.Second)
	replacement := Pod(4, V2, Replacing("web-3"), func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(s.O.Now) })
	s.O.Pods = append(s.O.Pods[:3:3], replacement)
	if got := s.After(time.Second); ReasonIn(&got, v1.ConditionReady) != v1.ReasonHalted {
		t.Errorf("a moment later Ready is %s", ReasonIn(&got, v1.ConditionReady))
	}
	if got := s.After(31 * time.Second); ReasonIn(&got, v1.ConditionReady) == v1.ReasonHalted {
		t.Errorf("it is still halted: %s", MessageIn(&got, v1.ConditionReady))
	}
}

// If the status is lost, it is still known which revisions have failed and which one is good, because the revisions are marked.
func TestVerdictsSurviveTheStatus(t *testing.T) {
	good := func(ago time.Duration) map[string]string {
		return map[string]string{v1.AnnotationGood: Now.Add(-ago).UTC().Format(time.RFC3339)}
	}
	failedMark := map[string]string{v1.AnnotationFailed: "true"}
	lost := func(annotations ...map[string]string) func(*plan.Observed) {
		return func(o *plan.Observed) {
			o.Manager.Status = v1.PodManagerStatus{}
			for i := range annotations {
				o.Revisions[i].Annotations = annotations[i]
			}
		}
	}
	one := Limits("0", "1")
	tests := map[string]struct {
		observed        plan.Observed
		moves           string
		current, failed int // index of the revision; -1 for none
	}{
		"rolled back":                 {observed: With(RollingOut(Next(3, one, Rollback), Pods3()...), lost(good(time.Hour), failedMark)), current: 0, failed: 1},
		"at rest":                     {observed: With(RollingOut(Next(2, one), Pod(0, V2), Pod(1, V2)), lost(good(time.Hour), good(time.Minute))), current: 1, failed: -1},
		"in mid-rollout":              {observed: With(RollingOut(Next(3, one), Pods3()...), lost(good(time.Hour), nil)), moves: "+3 new, -2", current: 0, failed: -1},
		"halted only":                 {observed: With(RollingOut(Next(3, one), Pods3()...), lost(good(time.Hour), failedMark)), moves: "+3 new, -2", current: 0, failed: -1},
		"tried again after another":   {observed: With(RollingOut(Next(3, one, Rollback), Pods3()...), lost(good(time.Hour), failedMark), func(o *plan.Observed) { o.Revisions[0].Revision = 3 }), moves: "+3 new, -2", current: 0, failed: -1},
		"the status knows of a later": {observed: With(RollingOut(Next(3, one), Pods3()...), func(o *plan.Observed) { o.Revisions[1].Annotations = good(time.Hour) }), moves: "+3 new, -2", current: 0, failed: -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nameOf := func(index int) string {
				if index < 0 {
					return ""
				}
				return test.observed.Revisions[index].Name
			}
			if got := ActionsOf(plan.Make(test.observed)); got != test.moves {
				t.Errorf("moves %q, want %q", got, test.moves)
			}
			got, _ := status.Compute(ReportOf(test.observed))
			if got.CurrentRevision != nameOf(test.current) || got.FailedRevision != nameOf(test.failed) {
				t.Errorf("current %q, failed %q", got.CurrentRevision, got.FailedRevision)
			}
		})
	}
}

// The current revision is marked as good, once.
func TestGoodRevisionIsMarked(t *testing.T) {
	o := RollingOut(Next(3, Limits("0", "1")), Pods3()...)
	decided := plan.Make(o)
	if len(decided.Mark) != 1 || decided.Mark[0].Name != o.Revisions[0].Name || decided.Mark[0].Annotations[v1.AnnotationGood] == "" {
		t.Fatalf("marks %+v", decided.Mark)
	}
	o.Revisions = []*appsv1.ControllerRevision{decided.Mark[0], o.Revisions[1]}
	if decided = plan.Make(o); len(decided.Mark) > 0 {
		t.Errorf("marks it again: %+v", decided.Mark)
	}
}
