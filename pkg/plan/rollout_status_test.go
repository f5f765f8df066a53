package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestRevisionsInStatus(t *testing.T) {
	one := limits("0", "1")
	noCurrent := func(o *Observed) { o.Manager.Status.CurrentRevision = "" }
	tests := map[string]struct {
		observed Observed
		// good tells that the present revision becomes the current one.
		good, base       bool
		updated, current int32
	}{
		"half way":                            {observed: rollingOut(next(3, one), pod(0), pod(1), pod(2, v2)), updated: 1, current: 2},
		"complete":                            {observed: rollingOut(next(3, one), pod(0, v2), pod(1, v2), pod(2, v2)), good: true, updated: 3, current: 3},
		"not all available":                   {observed: rollingOut(next(3, one), pod(0, v2), pod(1, v2), pod(2, v2, notReady)), updated: 3},
		"one too many":                        {observed: rollingOut(next(2, one), pod(0, v2), pod(1, v2), pod(2, v2)), updated: 3},
		"a partition":                         {observed: rollingOut(next(3, one, partition("1")), pod(0), pod(1, v2), pod(2, v2)), updated: 2, current: 1},
		"no pods prove nothing":               {observed: rollingOut(next(0, one))},
		"one has failed a moment ago":         {observed: rollingOut(next(2, one), pod(0, v2), pod(1, v2, crashed(1, time.Minute), readyFor(29*time.Second))), updated: 2},
		"not for long enough":                 {observed: rollingOut(next(2, one), pod(0, v2), pod(1, v2, readyFor(29*time.Second))), updated: 2},
		"for just long enough":                {observed: rollingOut(next(2, one), pod(0, v2), pod(1, v2, readyFor(30*time.Second))), good: true, updated: 2, current: 2},
		"it has recovered":                    {observed: rollingOut(next(2, one), pod(0, v2), pod(1, v2, crashed(1, time.Minute), readyFor(30*time.Second))), good: true, updated: 2, current: 2},
		"failures do not matter":              {observed: rollingOut(next(2, one, onFailure(v1.ContinueOnFailure)), pod(0, v2), pod(1, v2, crashed(1, 35*time.Second), readyFor(30*time.Second))), good: true, updated: 2, current: 2},
		"the first revision":                  {observed: with(observe(manager(2), pod(0), pod(1)), noCurrent), good: true, updated: 2, current: 2},
		"the first one, not available":        {observed: with(observe(manager(2), pod(0), pod(1, notReady)), noCurrent), updated: 2},
		"the first one, a moment ago failing": {observed: with(observe(manager(2), pod(0), pod(1, crashed(1, time.Minute), readyFor(29*time.Second))), noCurrent), updated: 2},
		"OnDelete, and nobody did":            {observed: rollingOut(next(2, strategy(v1.OnDeleteStrategy)), pod(0), pod(1)), current: 2},
		"OnDelete, and somebody did for one":  {observed: rollingOut(next(2, strategy(v1.OnDeleteStrategy)), pod(0), pod(1, v2)), updated: 1, current: 1},
		"the old one proves itself as well":   {observed: with(rollingOut(next(2, strategy(v1.OnDeleteStrategy)), pod(0), pod(1, v2)), noCurrent), base: true, updated: 1, current: 1},
		"but not in a moment":                 {observed: with(rollingOut(next(2, strategy(v1.OnDeleteStrategy)), pod(0, readyFor(time.Second)), pod(1, v2)), noCurrent), updated: 1},
		"OnDelete, and somebody did":          {observed: rollingOut(next(1, strategy(v1.OnDeleteStrategy)), pod(0, v2)), good: true, updated: 1, current: 1},
		"paused, and yet complete":            {observed: rollingOut(next(1, paused), pod(0, v2)), good: true, updated: 1, current: 1},
		"a pod made by hand":                  {observed: observe(manager(2), pod(0, unlabelled), pod(1)), updated: 2, current: 2},
		"a pod of a third template":           {observed: rollingOut(next(3, one), pod(0), pod(1, of("v1.5")), pod(2, v2)), updated: 1, current: 1},
		"an ended pod is not counted":         {observed: rollingOut(next(2, one), pod(0), failed(1, time.Hour, 0, v2)), current: 1},
		"a node that cannot give the CPU":     {observed: rollingOut(next(1, one, inPlace(v1.InPlaceIfPossible, 0)), pod(0, v2, resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)))},
		"a pod that is ending, of the new":    {observed: rollingOut(next(1, one), pod(0, v2, terminating), pod(1)), current: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.observed.Manager.Status.CurrentRevision
			report := reportOf(test.observed)
			status, _ := Status(report)
			if status.UpdateRevision != report.Plan.Revisions.Update.Name {
				t.Errorf("updateRevision %s", status.UpdateRevision)
			}
			want := before
			if test.good {
				want = status.UpdateRevision
			}
			if test.base {
				want = revisionFor(manager(0)).Name
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

// Why a revision has failed is known when it happens. It is told for as long as it stays rolled back, although the pods
// that showed it are gone.
func TestRollbackIsToldToTheEnd(t *testing.T) {
	m := next(3, onFailure(v1.RollbackOnFailure), limits("0", "1"), failingFor(time.Minute))
	o := rollingOut(m, pod(0), pod(1), pod(2, v2, crashing))
	first, _ := Status(reportOf(o))
	m.Status = first
	o.Pods, o.Now = []*corev1.Pod{pod(0), pod(1), pod(3)}, now.Add(time.Hour)
	later, again := Status(reportOf(o))
	if !meta.IsStatusConditionTrue(first.Conditions, v1.ConditionProgressing) || reasonOf(&first, v1.ConditionStalled) != "" {
		t.Error("it counts as stalled while it is at work")
	}
	want := messageOf(&first, v1.ConditionProgressing)
	if got := messageOf(&later, v1.ConditionStalled); got != want {
		t.Errorf("later it says\n%q, want\n%q", got, want)
	}
	m.Status = later
	if same, _ := Status(reportOf(o)); StatusDiffers(&later, &same) || !again.Never() {
		t.Errorf("it goes on changing, or asks to be called after %v", again)
	}
}

// With the template put back, all is as before.
func TestRollbackEndsWithTheOldTemplate(t *testing.T) {
	m := manager(3, onFailure(v1.RollbackOnFailure), failedBefore)
	status, _ := Status(reportOf(observe(m, pods3()...)))
	if status.FailedRevision != "" || reasonOf(&status, v1.ConditionReady) != v1.ReasonAllAvailable || reasonOf(&status, v1.ConditionStalled) != "" {
		t.Errorf("failed %q, Ready %s, Stalled %s", status.FailedRevision, reasonOf(&status, v1.ConditionReady), reasonOf(&status, v1.ConditionStalled))
	}
}

func TestIsNews(t *testing.T) {
	base, _ := Status(reportOf(rollingOut(next(3), pod(0), pod(1), pod(2, v2))))
	tests := map[string]struct {
		change func(*v1.PodManagerStatus)
		want   bool
	}{
		"nothing":             {change: func(*v1.PodManagerStatus) {}},
		"counts":              {change: func(s *v1.PodManagerStatus) { s.ReadyReplicas++ }},
		"a message":           {change: func(s *v1.PodManagerStatus) { s.Conditions[0].Message = "x" }},
		"a condition":         {change: func(s *v1.PodManagerStatus) { s.Conditions[0].Status = metav1.ConditionTrue }, want: true},
		"a condition more":    {change: func(s *v1.PodManagerStatus) { s.Conditions = append(s.Conditions, metav1.Condition{Type: "x"}) }, want: true},
		"a condition instead": {change: func(s *v1.PodManagerStatus) { s.Conditions[0].Type = "x" }, want: true},
		"a new revision":      {change: func(s *v1.PodManagerStatus) { s.UpdateRevision = "x" }, want: true},
		"a good revision":     {change: func(s *v1.PodManagerStatus) { s.CurrentRevision = "x" }, want: true},
		"a bad revision":      {change: func(s *v1.PodManagerStatus) { s.FailedRevision = "x" }, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := base.DeepCopy()
			test.change(changed)
			if got := isNews(&base, changed); got != test.want {
				t.Errorf("news: %v", got)
			}
		})
	}
}
