package plantest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Rollouts: pods have the image nginx unless OfImage or V2 changes it, and the PodManager's template has another image.

func Image(name string) func(*v1.PodManager) { return func(m *v1.PodManager) { m.Spec.Image = name } }

// OfImage gives a pod the revision with this image.
func OfImage(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels[v1.LabelRevision] = RevisionFor(Manager(0, Image(name))).Hash
		p.Spec.Containers[0].Image = name
	}
}

// Limits sets maxSurge and maxUnavailable.
func Limits(surge, unavailable string) func(*v1.PodManager) {
	return onRolling(func(r *v1.RollingUpdate) {
		r.MaxSurge, r.MaxUnavailable = ptr.To(intstr.Parse(surge)), ptr.To(intstr.Parse(unavailable))
	})
}

func Partition(value string) func(*v1.PodManager) {
	return onRolling(func(r *v1.RollingUpdate) { r.Partition = ptr.To(intstr.Parse(value)) })
}

func InPlace(policy v1.PodUpdatePolicy, grace int32) func(*v1.PodManager) {
	return onRolling(func(r *v1.RollingUpdate) { r.PodUpdatePolicy, r.InPlaceGracePeriodSeconds = policy, grace })
}

func onRolling(change func(*v1.RollingUpdate)) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		if m.Spec.UpdateStrategy.RollingUpdate == nil {
			m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{}
		}
		change(m.Spec.UpdateStrategy.RollingUpdate)
	}
}

func Strategy(kind v1.UpdateStrategyType) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.UpdateStrategy.Type = kind }
}

func OnFailure(action v1.FailureAction) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.OnFailure = action }
}

func Paused(m *v1.PodManager) { m.Spec.Paused = true }

// RollingOut returns an observation in which the current revision has the image nginx, and the new revision is the PodManager's template.
func RollingOut(m *v1.PodManager, pods ...*corev1.Pod) plan.Observed {
	o := Observe(m, pods...)
	old := Stored(Manager(0), 1)
	o.Revisions = []*appsv1.ControllerRevision{old, Stored(m, 2)}
	m.Status.CurrentRevision = old.Name
	for _, p := range pods {
		if p.Labels[v1.LabelRevision] == o.Revisions[1].Labels[v1.LabelRevision] {
			m.Status.UpdatedReplicas++
		}
	}
	return o
}

// ReportOf returns a report about the observed pods, as if there were nothing to do.
func ReportOf(o plan.Observed) status.Report {
	return plan.Plan{Revisions: history.Find(o.Sources()), Capabilities: o.Capabilities}.Report(o.Manager, o.Pods, false, o.Now)
}

// Reported returns a report about pods that are not in a rollout.
func Reported(m *v1.PodManager, pods ...*corev1.Pod) status.Report {
	return ReportOf(Observe(m, pods...))
}

// Planned returns a report about a plan of which nothing was carried out.
func Planned(o plan.Observed) status.Report {
	return plan.Make(o).Report(o.Manager, o.Pods, false, o.Now)
}

// Crashed gives a pod a running container app that was restarted this many times, the last time that long ago.
func Crashed(times int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		last := Terminated("Error", 1)
		last.Terminated.FinishedAt = metav1.NewTime(Now.Add(-ago))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "app", RestartCount: times, LastTerminationState: last,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(-ago))}},
		}}
	}
}

// Crashing puts the container app into CrashLoopBackOff.
func Crashing(p *corev1.Pod) {
	Container(Waiting("CrashLoopBackOff", "back-off 10s"), Terminated("Error", 3))(p)
	p.Status.ContainerStatuses[0].RestartCount = 2
}

// Gated gives a pod our readiness gate, whose condition has had this status for that long.
func Gated(status corev1.ConditionStatus, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: v1.InPlaceReady, Status: status, LastTransitionTime: metav1.NewTime(Now.Add(-ago)),
		})
	}
}

func MaxFailed(value string) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.FailureThreshold = ptr.To(intstr.Parse(value)) }
}

// FailedBefore marks a revision other than the new one as failed in the status.
func FailedBefore(m *v1.PodManager) {
	m.Status.FailedRevision = RevisionFor(Manager(0, Image("v1.5"))).Name
}

// ActionsOf summarizes what a plan does to pods: "+3 new" is created, "-0" deleted, "Update 1" updated in place.
func ActionsOf(plan plan.Plan) string {
	var text []string
	for _, c := range plan.Create {
		kind := "old"
		if c.Revision == plan.Revisions.Update {
			kind = "new"
		}
		text = append(text, fmt.Sprintf("+%d %s", c.Index, kind))
	}
	for _, d := range plan.Delete {
		text = append(text, "-"+strings.TrimPrefix(d.Pod.Name, "web-"))
	}
	for _, c := range plan.Update {
		text = append(text, fmt.Sprintf("%s %s", c.Step, strings.TrimPrefix(c.Pod.Name, "web-")))
	}
	return strings.Join(text, ", ")
}

func V2(p *corev1.Pod) { OfImage("v2")(p) }

// Next returns the PodManager after its image was changed to v2.
func Next(replicas int32, change ...func(*v1.PodManager)) *v1.PodManager {
	m := Manager(replicas, Image("v2"))
	for _, c := range change {
		c(m)
	}
	return m
}

func Unlabelled(p *corev1.Pod) { delete(p.Labels, v1.LabelRevision) }

func MaxTerminating(value string) func(*v1.PodManager) {
	parsed := intstr.Parse(value)
	return func(m *v1.PodManager) { m.Spec.ScaleDown = &v1.ScaleDown{MaxTerminating: &parsed} }
}

func Marked(p *corev1.Pod) { Annotated(v1.AnnotationDelete, "true")(p) }

// story follows the status of a PodManager as time passes. No plan is carried out: only the test changes pods.
type story struct {
	t     *testing.T
	Start time.Time
	O     plan.Observed
	Pods  []*corev1.Pod
}

// Tell starts a story with a rollout from the image nginx.
func Tell(t *testing.T, m *v1.PodManager, pods ...*corev1.Pod) *story {
	t.Helper()
	s := &story{t: t, Start: Now, O: RollingOut(m, pods...), Pods: pods}
	s.After(0)
	return s
}

// After lets time pass and returns the status at the end.
func (s *story) After(wait time.Duration) v1.PodManagerStatus {
	s.t.Helper()
	s.O.Now = s.O.Now.Add(wait)
	plan := plan.Make(s.O)
	status, _ := status.Compute(plan.Report(s.O.Manager, s.O.Pods, false, s.O.Now))
	s.O.Manager = s.O.Manager.DeepCopy()
	s.O.Manager.Status = status
	if ReasonIn(&status, v1.ConditionStalled) != "" && plan.ActsOnPods() {
		s.t.Errorf("stalled (%s) while acting: %v", ReasonIn(&status, v1.ConditionStalled), ActionsOf(plan))
	}
	return status
}

// HasNotFailed fails the test if the revision has failed or the deadline has passed.
func (s *story) HasNotFailed(status v1.PodManagerStatus, why string) {
	s.t.Helper()
	if status.FailedRevision != "" || ReasonIn(&status, v1.ConditionStalled) == v1.ReasonDeadline {
		s.t.Errorf("%s: failed %q, stalled %q: %s", why, status.FailedRevision, ReasonIn(&status, v1.ConditionStalled), MessageIn(&status, v1.ConditionStalled))
	}
}

// IsIn puts the container app into a state after this many restarts.
func IsIn(state corev1.ContainerState, restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		Container(state, Terminated("Error", 1))(p)
		p.Status.ContainerStatuses[0].RestartCount = restarts
	}
}

var Rollback = OnFailure(v1.RollbackOnFailure)
