package plan

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Rollouts: the pods of these tests are made from nginx, unless of says otherwise, and the PodManager wants another image.

func image(name string) func(*v1.PodManager) { return func(m *v1.PodManager) { m.Spec.Image = name } }

// of makes a pod one of the revision with this image.
func of(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels[v1.LabelRevision] = revisionFor(manager(0, image(name))).Hash
		p.Spec.Containers[0].Image = name
	}
}

// limits are maxSurge and maxUnavailable.
func limits(surge, unavailable string) func(*v1.PodManager) {
	return onRolling(func(r *v1.RollingUpdate) {
		r.MaxSurge, r.MaxUnavailable = ptr.To(intstr.Parse(surge)), ptr.To(intstr.Parse(unavailable))
	})
}

func partition(value string) func(*v1.PodManager) {
	return onRolling(func(r *v1.RollingUpdate) { r.Partition = ptr.To(intstr.Parse(value)) })
}

func inPlace(policy v1.PodUpdatePolicy, grace int32) func(*v1.PodManager) {
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

func strategy(kind v1.UpdateStrategyType) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.UpdateStrategy.Type = kind }
}

func onFailure(action v1.FailureAction) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.OnFailure = action }
}

func paused(m *v1.PodManager) { m.Spec.Paused = true }

// rollingOut is an observation in which nginx is the last good revision, and the present one is another.
func rollingOut(m *v1.PodManager, pods ...*corev1.Pod) Observed {
	o := observe(m, pods...)
	old := stored(manager(0), 1)
	o.Revisions = []*appsv1.ControllerRevision{old, stored(m, 2)}
	m.Status.CurrentRevision = old.Name
	for _, p := range pods {
		if p.Labels[v1.LabelRevision] == o.Revisions[1].Labels[v1.LabelRevision] {
			m.Status.UpdatedReplicas++
		}
	}
	return o
}

// reportOf is a report about the same.
func reportOf(o Observed) Report {
	return Report{Manager: o.Manager, Plan: Plan{Revisions: findRevisions(o.sources())}, Pods: o.Pods, Now: o.Now}
}

// crashed is a container app that was restarted so often, last that long ago, and runs.
func crashed(times int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		last := ended("Error", 1)
		last.Terminated.FinishedAt = metav1.NewTime(now.Add(-ago))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "app", RestartCount: times, LastTerminationState: last,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-ago))}},
		}}
	}
}

// crashing is one that waits for its next try.
func crashing(p *corev1.Pod) {
	container(waiting("CrashLoopBackOff", "back-off 10s"), ended("Error", 3))(p)
	p.Status.ContainerStatuses[0].RestartCount = 2
}

// gated gives a pod our readiness gate, and its condition this status for so long.
func gated(status corev1.ConditionStatus, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: v1.InPlaceReady, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		})
	}
}
