package status_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

func baked(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.BakeSeconds = &seconds }
}

func TestRevisionsInStatus(t *testing.T) {
	one, onDelete, baking := Limits("0", "1"), Strategy(v1.OnDeleteStrategy), Baking(time.Hour)
	deferred := Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)
	noCurrent := func(o *plan.Observed) { o.Manager.Status.CurrentRevision = "" }
	tests := map[string]struct {
		observed plan.Observed
		// good is whether the new revision becomes the current one, oldGood whether the old one does.
		good, oldGood    bool
		updated, current int32
	}{
		"half way":                               {observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2)), updated: 1, current: 2},
		"complete":                               {observed: RollingOut(Next(3, one, baking), Pod(0, V2), Pod(1, V2), Pod(2, V2)), good: true, updated: 3, current: 3},
		"complete, seen just now":                {observed: RollingOut(Next(3, one), Pod(0, V2), Pod(1, V2), Pod(2, V2)), updated: 3},
		"one pod without a node":                 {observed: RollingOut(Next(3, one, baking), Pod(0, V2), Pod(1, V2), Pod(2, V2, NotReady)), good: true, updated: 3, current: 3},
		"one pod is missing":                     {observed: RollingOut(Next(3, one, baking), Pod(0, V2), Pod(1, V2)), good: true, updated: 2, current: 2},
		"too few available":                      {observed: RollingOut(Next(3, one, baking), Pod(0, V2), Pod(1, V2, NotReady), Pod(2, V2, NotReady)), updated: 3},
		"one available pod is not none":          {observed: RollingOut(Next(1, one, baking), Pod(0, V2, NotReady)), updated: 1},
		"one too many":                           {observed: RollingOut(Next(2, one, baking), Pod(0, V2), Pod(1, V2), Pod(2, V2)), good: true, updated: 3, current: 3},
		"one has yet to be updated":              {observed: RollingOut(Next(3, one, baking), Pod(0), Pod(1, V2), Pod(2, V2)), updated: 2, current: 1},
		"a partition":                            {observed: RollingOut(Next(3, one, baking, Partition("1")), Pod(0), Pod(1, V2), Pod(2, V2)), updated: 2, current: 1},
		"a partition that no pod is left for":    {observed: RollingOut(Next(3, one, baking, Partition("1")), Pod(0, V2), Pod(1, V2), Pod(2, V2)), updated: 3},
		"no pods prove nothing":                  {observed: RollingOut(Next(0, one, baking))},
		"a pod has not recovered yet":            {observed: RollingOut(Next(2, one, baking), Pod(0, V2), Pod(1, V2, Crashed(1, 29*time.Second), ReadyFor(29*time.Second))), updated: 2},
		"fewer fail than the threshold":          {observed: RollingOut(Next(3, one, baking, MaxFailed("2")), Pod(0, V2), Pod(1, V2), Pod(2, V2, Crashing)), good: true, updated: 3, current: 3},
		"not available for long enough":          {observed: RollingOut(Next(2, one, Baking(29*time.Second)), Pod(0, V2), Pod(1, V2)), updated: 2},
		"available for exactly long enough":      {observed: RollingOut(Next(2, one, Baking(30*time.Second)), Pod(0, V2), Pod(1, V2)), good: true, updated: 2, current: 2},
		"a node's clock an hour behind":          {observed: RollingOut(Next(2, one, Baking(time.Second)), Pod(0, V2, ReadyFor(time.Hour)), Pod(1, V2, ReadyFor(time.Hour))), updated: 2},
		"a resize that is deferred":              {observed: RollingOut(Next(3, one, baking), Pod(0, V2), Pod(1, V2), Pod(2, InPlaceTo("v2", 0, time.Hour), deferred)), updated: 3},
		"a bake time of its own, not over":       {observed: RollingOut(Next(2, one, baked(60), Baking(59*time.Second)), Pod(0, V2), Pod(1, V2)), updated: 2},
		"a bake time of its own, over":           {observed: RollingOut(Next(2, one, baked(60), Baking(60*time.Second)), Pod(0, V2), Pod(1, V2)), good: true, updated: 2, current: 2},
		"no bake time":                           {observed: RollingOut(Next(2, one, baked(0)), Pod(0, V2), Pod(1, V2, ReadyFor(0))), good: true, updated: 2, current: 2},
		"a pod has recovered":                    {observed: RollingOut(Next(2, one, baking), Pod(0, V2), Pod(1, V2, Crashed(1, time.Minute), ReadyFor(30*time.Second))), good: true, updated: 2, current: 2},
		"onFailure Continue":                     {observed: RollingOut(Next(2, one, baking, OnFailure(v1.ContinueOnFailure)), Pod(0, V2), Pod(1, V2, Crashed(1, 35*time.Second), ReadyFor(30*time.Second))), good: true, updated: 2, current: 2},
		"the first revision":                     {observed: With(Observe(Manager(2, baking), Pod(0), Pod(1)), noCurrent), good: true, updated: 2, current: 2},
		"the first revision, not available":      {observed: With(Observe(Manager(2, baking), Pod(0), Pod(1, NotReady)), noCurrent), updated: 2},
		"the first revision, a pod has failed":   {observed: With(Observe(Manager(2, baking), Pod(0), Pod(1, Crashed(1, 29*time.Second), ReadyFor(29*time.Second))), noCurrent), updated: 2},
		"superseded during its bake":             {observed: With(RollingOut(Next(3, one), Pod(0, OfImage("v1.5")), Pod(1, OfImage("v1.5")), Pod(2, OfImage("v1.5")))), updated: 0},
		"the first one, superseded":              {observed: With(RollingOut(Next(3, one), Pod(0, ReadyFor(time.Second)), Pod(1, ReadyFor(time.Second)), Pod(2, NotReady)), noCurrent), oldGood: true, current: 3},
		"the first one, superseded, too few":     {observed: With(RollingOut(Next(3, one), Pod(0), Pod(1, NotReady), Pod(2, NotReady)), noCurrent)},
		"OnDelete, no pod deleted":               {observed: RollingOut(Next(2, onDelete, baking), Pod(0), Pod(1)), current: 2},
		"OnDelete, one pod deleted":              {observed: RollingOut(Next(2, onDelete, baking), Pod(0), Pod(1, V2)), updated: 1, current: 1},
		"OnDelete, all but a quarter deleted":    {observed: RollingOut(Next(4, onDelete, baking), Pod(0), Pod(1, V2), Pod(2, V2), Pod(3, V2)), good: true, updated: 3, current: 3},
		"OnDelete, the first one was superseded": {observed: With(RollingOut(Next(2, onDelete), Pod(0), Pod(1)), noCurrent), oldGood: true, current: 2},
		"OnDelete, superseded, too few":          {observed: With(RollingOut(Next(2, onDelete), Pod(0), Pod(1, V2)), noCurrent), updated: 1},
		"OnDelete, all pods deleted":             {observed: RollingOut(Next(1, onDelete, baking), Pod(0, V2)), good: true, updated: 1, current: 1},
		"Recreate, all but a quarter":            {observed: RollingOut(Next(4, Strategy(v1.RecreateStrategy), baking), Pod(0, V2), Pod(1, V2), Pod(2, V2), Pod(3, V2, NotReady)), good: true, updated: 4, current: 4},
		"Recreate, too few":                      {observed: RollingOut(Next(4, Strategy(v1.RecreateStrategy), baking), Pod(0, V2), Pod(1, V2), Pod(2, V2, NotReady), Pod(3, V2, NotReady)), updated: 4},
		"paused, complete":                       {observed: RollingOut(Next(1, Paused, baking), Pod(0, V2)), good: true, updated: 1, current: 1},
		"paused before the end":                  {observed: RollingOut(Next(4, onDelete, Paused, baking), Pod(0), Pod(1, V2), Pod(2, V2), Pod(3, V2)), updated: 3, current: 1},
		"a pod created by hand":                  {observed: Observe(Manager(2), Pod(0, Unlabelled), Pod(1)), updated: 2, current: 2},
		"a pod of a third template":              {observed: RollingOut(Next(3, one), Pod(0), Pod(1, OfImage("v1.5")), Pod(2, V2)), updated: 1, current: 1},
		"a finished pod is not counted":          {observed: RollingOut(Next(2, one), Pod(0), FailedPod(1, time.Hour, 0, V2)), current: 1},
		"an infeasible resize is not updated":    {observed: RollingOut(Next(1, one, InPlace(v1.InPlaceIfPossible, 0)), Pod(0, V2, Resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)))},
		"a terminating pod is not counted":       {observed: RollingOut(Next(1, one), Pod(0, V2, Terminating), Pod(1)), current: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.observed.Manager.Status.CurrentRevision
			report := ReportOf(test.observed)
			status, _ := Compute(report)
			if status.UpdateRevision != report.Rollout.Revisions.Update.Name {
				t.Errorf("updateRevision %s", status.UpdateRevision)
			}
			want := before
			if test.good {
				want = status.UpdateRevision
			}
			if test.oldGood {
				want = RevisionFor(Manager(0)).Name
			}
			if status.CurrentRevision != want {
				t.Errorf("currentRevision %q, want %q", status.CurrentRevision, want)
			}
			if status.UpdatedReplicas != test.updated || status.CurrentReplicas != test.current {
				t.Errorf("updated %d, current %d; want %d and %d", status.UpdatedReplicas, status.CurrentReplicas, test.updated, test.current)
			}
		})
	}
}

// The cause of a rollback stays in the message as long as the revision is rolled back, although the failing pods are gone.
func TestRollbackKeepsItsCause(t *testing.T) {
	m := Next(3, OnFailure(v1.RollbackOnFailure), Limits("0", "1"), failingFor(time.Minute))
	o := RollingOut(m, Pod(0), Pod(1), Pod(2, V2, Crashing))
	first, _ := Compute(ReportOf(o))
	m.Status = first
	o.Pods, o.Now = []*corev1.Pod{Pod(0), Pod(1), Pod(3)}, Now.Add(time.Hour)
	later, again := Compute(ReportOf(o))
	if !meta.IsStatusConditionTrue(first.Conditions, v1.ConditionProgressing) || ReasonIn(&first, v1.ConditionStalled) != "" {
		t.Error("the rollback is Stalled, or not Progressing, while pods are still moved")
	}
	want := MessageIn(&first, v1.ConditionProgressing)
	if got := MessageIn(&later, v1.ConditionStalled); got != want {
		t.Errorf("after the rollback, Stalled says\n%q, want\n%q", got, want)
	}
	m.Status = later
	if same, _ := Compute(ReportOf(o)); Differs(&later, &same) || !again.Never() {
		t.Errorf("the status keeps changing, or requests another sync: %v", again)
	}
}

// Restoring the old template clears the rollback.
func TestRollbackEndsWithTheOldTemplate(t *testing.T) {
	m := Manager(3, OnFailure(v1.RollbackOnFailure), FailedBefore)
	status, _ := Compute(ReportOf(Observe(m, Pods3()...)))
	if status.FailedRevision != "" || ReasonIn(&status, v1.ConditionReady) != v1.ReasonAllAvailable || ReasonIn(&status, v1.ConditionStalled) != "" {
		t.Errorf("failed %q, Ready %s, Stalled %s", status.FailedRevision, ReasonIn(&status, v1.ConditionReady), ReasonIn(&status, v1.ConditionStalled))
	}
}

func TestIsNews(t *testing.T) {
	base, _ := Compute(ReportOf(RollingOut(Next(3), Pod(0), Pod(1), Pod(2, V2))))
	tests := map[string]struct {
		change func(*v1.PodManagerStatus)
		want   bool
	}{
		"nothing":                     {change: func(*v1.PodManagerStatus) {}},
		"counts":                      {change: func(s *v1.PodManagerStatus) { s.ReadyReplicas++ }},
		"a message":                   {change: func(s *v1.PodManagerStatus) { s.Conditions[0].Message = "x" }},
		"a condition":                 {change: func(s *v1.PodManagerStatus) { s.Conditions[0].Status = metav1.ConditionTrue }, want: true},
		"another condition added":     {change: func(s *v1.PodManagerStatus) { s.Conditions = append(s.Conditions, metav1.Condition{Type: "x"}) }, want: true},
		"a condition of another type": {change: func(s *v1.PodManagerStatus) { s.Conditions[0].Type = "x" }, want: true},
		"a new revision":              {change: func(s *v1.PodManagerStatus) { s.UpdateRevision = "x" }, want: true},
		"a good revision":             {change: func(s *v1.PodManagerStatus) { s.CurrentRevision = "x" }, want: true},
		"a bad revision":              {change: func(s *v1.PodManagerStatus) { s.FailedRevision = "x" }, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := base.DeepCopy()
			test.change(changed)
			if got := IsNews(&base, changed); got != test.want {
				t.Errorf("news: %v", got)
			}
		})
	}
}
