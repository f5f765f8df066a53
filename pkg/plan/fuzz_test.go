package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// An older version or another client may have written the status, a pod's annotations or a stored revision. Whatever they contain, a plan stays
// within maxSurge and maxUnavailable, and the resulting status becomes stable.
func FuzzMake(f *testing.F) {
	current := RevisionFor(Manager(0)).Name
	f.Add([]byte(`{"currentRevision":"`+current+`","updateRevision":"web-2","rollout":{"revision":"web-2","mostAvailable":1,"failing":[{"name":"web-1","uid":"uid-web-1","since":"2026-01-02T03:04:00Z"}]}}`),
		[]byte(`{"spec":{"containers":[{"name":"app","image":"v1"}]}}`), `{"revision":"x","begun":true}`, "x", uint64(0x0123456789abcdef))
	f.Add([]byte(`{"observedGeneration":-1}`), []byte("null"), "", "", uint64(0))
	f.Add([]byte(`{"replicas":-1,"updatedReplicas":2147483647,"collisionCount":2147483647,"failedRevision":"`+current+`","rollout":{"spentSeconds":-2147483648,"since":"0001-01-01T00:00:00Z","replicas":-7}}`),
		[]byte(`{"spec":{"containers":null}}`), "[]", "-1", uint64(0xfedcba9876543210))
	f.Add([]byte(`{"conditions":[{"type":"Ready","status":"True"},{"type":"Stalled","status":"x"}],"rollout":{"mostAvailable":2147483647,"spentSeconds":2147483647,"since":"9999-01-01T00:00:00Z"}}`),
		[]byte(`{}`), `{"refused":"no","retryAt":"2026-01-02T05:04:05Z"}`, "99999999999", uint64(0x5555aaaa5555aaaa))
	// One of three pods has the new revision and is not ready: the clock of the rollout runs, whatever value it starts from.
	next := RevisionFor(Manager(0, Image("v2"))).Name
	halfway := shapeWith([][2]uint64{{3, 5}, {2, 3}, {0, 4}, {1, 5}, {1, 5}, {0, 5}, {0, 3}, {0, 2}, {1, 3}, {1, 4}, {1, 2}, {3, 7}, {2, 3}, {1, 7}, {0, 3}, {0, 7}, {0, 3}, {0, 7}})
	for _, clock := range []string{`"spentSeconds":-2147483648`, `"spentSeconds":2147483647,"since":"0001-01-01T00:00:00Z"`, `"since":"9999-01-01T00:00:00Z"`} {
		f.Add([]byte(`{"currentRevision":"`+current+`","updateRevision":"`+next+`","rollout":{"revision":"`+next+`",`+clock+`}}`), []byte("{}"), "", "", halfway)
	}
	f.Fuzz(func(t *testing.T, statusData, template []byte, record, text string, shape uint64) {
		dice := shapeOf(shape)
		m := dice.manager()
		if json.Unmarshal(statusData, &m.Status) != nil {
			return
		}
		stored := Stored(Manager(0), 1)
		foreign := Stored(Manager(0, Image("v1")), 2)
		foreign.Data.Raw = template
		pods := dice.pods(record, text)
		o := Observe(m.DeepCopy(), pods...)
		o.Manager.Status = m.Status
		o.Revisions = []*appsv1.ControllerRevision{stored, foreign}
		decided := plan.Make(o)
		checkPlan(t, o, decided)
		if again := plan.Make(o); ActionsOf(again) != ActionsOf(decided) {
			t.Errorf("planned %s, and then %s", ActionsOf(decided), ActionsOf(again))
		}
		checkStatus(t, o, decided)
	})
}

// shape supplies the choices of a fuzz case.
type shape struct{ bits uint64 }

func shapeOf(bits uint64) *shape { return &shape{bits} }

// shapeWith returns the bits for these choices. Each choice is a value and the number of options.
func shapeWith(choices [][2]uint64) (bits uint64) {
	for _, choice := range slices.Backward(choices) {
		bits = bits*choice[1] + choice[0]
	}
	return bits
}

func (s *shape) choose(n uint64) uint64 {
	chosen := s.bits % n
	s.bits /= n
	return chosen
}

func (s *shape) manager() *v1.PodManager {
	percent := func() *intstr.IntOrString {
		value := intstr.FromString(fmt.Sprintf("%d%%", 25*s.choose(5)))
		return &value
	}
	m := Manager(int32(s.choose(5)), Image([]string{"nginx", "v1", "v2"}[s.choose(3)]))
	m.Spec.UpdateStrategy.Type = []v1.UpdateStrategyType{v1.RollingUpdateStrategy, v1.RollingUpdateStrategy, v1.RecreateStrategy, v1.OnDeleteStrategy}[s.choose(4)]
	m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{
		MaxSurge: percent(), MaxUnavailable: percent(), Partition: percent(),
		PodUpdatePolicy: []v1.PodUpdatePolicy{v1.RecreatePods, v1.InPlaceIfPossible, v1.InPlaceOnly}[s.choose(3)], InPlaceGracePeriodSeconds: int32(s.choose(2)) * 5,
	}
	m.Spec.FailurePolicy.OnFailure = []v1.FailureAction{v1.ContinueOnFailure, v1.HaltOnFailure, v1.RollbackOnFailure}[s.choose(3)]
	m.Spec.Paused = s.choose(4) == 0
	if s.choose(2) == 0 {
		m.Spec.PodReplacementPolicy = v1.TerminationComplete
	}
	return m
}

// pods returns up to six pods in states that the shape chooses. Every second pod has the fuzzed texts in its annotations.
func (s *shape) pods(record, text string) []*corev1.Pod {
	states := []func(*corev1.Pod){func(*corev1.Pod) {}, NotReady, Terminating, Crashing, Phase(corev1.PodFailed), Gated(corev1.ConditionFalse, time.Minute), Marked}
	var pods []*corev1.Pod
	for index := range int(s.choose(7)) {
		pod := Pod(index, OfImage([]string{"nginx", "v1", "v2"}[s.choose(3)]))
		states[s.choose(uint64(len(states)))](pod)
		if index%2 == 0 {
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			for key, value := range map[string]string{
				v1.AnnotationInPlace: record, v1.AnnotationFailuresBefore: text, v1.AnnotationDisruptionsBefore: text, corev1.PodDeletionCost: text,
			} {
				pod.Annotations[key] = value
			}
		}
		if index == 5 {
			pod.Labels[v1.LabelRevision] = text
		}
		pods = append(pods, pod)
	}
	return pods
}

// checkPlan checks that the plan stays within the limits of the spec.
func checkPlan(t *testing.T, o plan.Observed, decided plan.Plan) {
	t.Helper()
	budget := rollout.BudgetOf(o.Manager)
	active, _, terminating := podstate.Split(o.Pods)
	remaining, available, stays := 0, 0, 0
	for _, pod := range active {
		isDeleted := slices.ContainsFunc(decided.Delete, func(d rollout.Deletion) bool { return d.Pod == pod })
		isUpdated := slices.ContainsFunc(decided.Update, func(u inplace.Update) bool { return u.Pod == pod && u.Step != inplace.StepOpen })
		isAvailable := health.IsAvailable(pod, o.Manager.MinReady(), o.Now)
		if isDeleted && isUpdated {
			t.Errorf("%s is deleted and updated", pod.Name)
		}
		remaining, available, stays = remaining+one(!isDeleted), available+one(isAvailable), stays+one(isAvailable && !isDeleted && !isUpdated)
	}
	if least := min(available, budget.MinAvailable); stays < least {
		t.Errorf("%d of %d available pods stay, want at least %d: %s", stays, available, least, ActionsOf(decided))
	}
	if len(decided.Create) > 0 {
		checkCreations(t, o, decided, remaining, len(terminating))
	}
}

// checkCreations checks that a plan that creates pods stays within maxSurge. remaining is how many active pods the plan does not delete.
func checkCreations(t *testing.T, o plan.Observed, decided plan.Plan, remaining, terminating int) {
	t.Helper()
	most := o.Manager.DesiredReplicas() + o.Manager.MaxSurge()
	if remaining+len(decided.Create) > most {
		t.Errorf("creates %d pods beside %d, want at most %d pods in all: %s", len(decided.Create), remaining, most, ActionsOf(decided))
	}
	if o.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete && remaining+terminating+len(decided.Create) > most {
		t.Errorf("creates %d pods beside %d active and %d terminating ones: %s", len(decided.Create), remaining, terminating, ActionsOf(decided))
	}
	for _, c := range decided.Create {
		if c.Revision == nil || c.Revision.Template() == nil || c.Index < 0 || c.FailuresBefore < 0 {
			t.Errorf("creates %+v", c)
		}
	}
}

// one returns 1 if the condition holds, else 0.
func one(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// checkStatus checks that the counts match the pods, that no conditions contradict each other, and that the status does not change once it is
// written.
func checkStatus(t *testing.T, o plan.Observed, decided plan.Plan) {
	t.Helper()
	first, again := status.Compute(decided.Report(o.Manager, o.Pods, false, o.Now))
	active, _, _ := podstate.Split(o.Pods)
	if int(first.Replicas) != len(active) || first.AvailableReplicas > first.ReadyReplicas || max(first.ReadyReplicas, first.UpdatedReplicas) > first.Replicas {
		t.Errorf("of %d active pods the status is %+v", len(active), first)
	}
	if ReasonIn(&first, v1.ConditionStalled) != "" && isTrue(&first, v1.ConditionReady) {
		t.Errorf("ready and stalled: %+v", first.Conditions)
	}
	if !again.Never() && again.At.Before(o.Now) {
		t.Errorf("the next sync is to be at %v, which is in the past", again.At)
	}
	if first.Rollout != nil && !isValid(o, first.Rollout) {
		t.Errorf("the record of the rollout is %+v", first.Rollout)
	}
	if _, err := json.Marshal(first); err != nil {
		t.Error(err)
	}
	settled := first
	for range 3 {
		m := o.Manager.DeepCopy()
		m.Status = settled
		next := o
		next.Manager = m
		before := settled
		settled, _ = status.Compute(Planned(next))
		if !status.Differs(&before, &settled) {
			return
		}
	}
	t.Errorf("the status never becomes stable: %s", asJSON(settled))
}

// isValid reports whether the record of a rollout is possible: neither its times nor its number of pods exceed what the spec allows.
func isValid(o plan.Observed, record *v1.RolloutStatus) bool {
	isOverdue := record.Since != nil && o.Now.Sub(record.Since.Time) > o.Manager.ProgressDeadline()
	return record.SpentSeconds >= 0 && !isOverdue && record.MostAvailable <= int32(o.Manager.DesiredReplicas())
}

func isTrue(s *v1.PodManagerStatus, kind string) bool {
	return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == kind && c.Status == "True" })
}

func asJSON(value any) string {
	data, _ := json.Marshal(value)
	return string(data)
}
