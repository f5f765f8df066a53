package plan

import (
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// now is the time of every test.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// manager is the PodManager "web" that wants this many pods.
func manager(replicas int32, change ...func(*v1.PodManager)) *v1.PodManager {
	m := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "uid-web", Generation: 7, Finalizers: []string{v1.Finalizer},
		},
		Spec: v1.PodManagerSpec{Replicas: ptr.To(replicas), Image: "nginx"},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func deleting(m *v1.PodManager) { m.DeletionTimestamp = &metav1.Time{Time: now} }

// pod is web-<index>, ready for an hour on a node of its own, as the controller would have made it.
func pod(index int, change ...func(*corev1.Pod)) *corev1.Pod {
	m := manager(0)
	p := NewPod(m, Creation{Index: index, Revision: revisionFor(m)})
	p.UID = types.UID("uid-" + p.Name)
	p.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour))
	p.Spec.NodeName = "node-" + strconv.Itoa(index)
	p.Status.Phase = corev1.PodRunning
	readyFor(time.Hour)(p)
	for _, c := range change {
		c(p)
	}
	return p
}

func pods3() []*corev1.Pod { return []*corev1.Pod{pod(0), pod(1), pod(2)} }

func readyFor(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-d)),
		}}
	}
}

func notReady(p *corev1.Pod) { p.Status.Conditions = nil }

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		if phase != corev1.PodRunning {
			notReady(p)
		}
	}
}

func onNode(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = name } }

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func restarted(times int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: times}}
	}
}

func createdAgo(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-d)) }
}

func orphaned(p *corev1.Pod) { p.OwnerReferences = nil }

// container sets the state of the container "app".
func container(state corev1.ContainerState, last corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		notReady(p)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: state, LastTerminationState: last}}
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ended(reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}
}

// stored is the revision of the PodManager's template, as it is stored.
func stored(m *v1.PodManager, number int64) *appsv1.ControllerRevision {
	return newRevision(m, encode(Template(&m.Spec)), number)
}

// revisionFor is the same as a revision.
func revisionFor(m *v1.PodManager) *Revision {
	object := stored(m, 1)
	return &Revision{Name: object.Name, Hash: object.Labels[v1.LabelRevision], stored: object}
}

// reported is a report about pods at rest.
func reported(m *v1.PodManager, pods ...*corev1.Pod) Report {
	o := observe(m, pods...)
	revisions, _ := revisionsOf(o)
	return Report{Manager: m, Pods: pods, Revisions: revisions, Now: o.Now}
}

// held is the hold on creating pods of the present template.
func held(until time.Time) func(*Observed) {
	return func(o *Observed) {
		o.Holds = map[string]Hold{revisionFor(o.Manager).Hash: {Until: until, Failure: Failure{Reason: v1.ReasonForbidden}}}
	}
}

// observe is an observation in which no other pods than these hold names, and no rollout is under way.
func observe(m *v1.PodManager, pods ...*corev1.Pod) Observed {
	o := Observed{Manager: m, Pods: pods, Revisions: []*appsv1.ControllerRevision{stored(m, 1)}, Now: now}
	m.Status.CurrentRevision, m.Status.UpdateRevision = o.Revisions[0].Name, o.Revisions[0].Name
	o.PodNamed = func(name string) *corev1.Pod {
		for _, p := range slices.Concat(o.Pods, o.Orphans) {
			if p.Name == name {
				return p
			}
		}
		return nil
	}
	return o
}

// with changes an observation.
func (o Observed) with(change func(*Observed)) Observed {
	change(&o)
	return o
}

// failed is a pod that has lived for a minute and failed so long ago, after so many failures before it.
func failed(index int, ago time.Duration, before int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := pod(index, phase(corev1.PodFailed), createdAgo(ago+time.Minute))
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: ended("Error", 1)}}
	p.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(now.Add(-ago))
	if before > 0 {
		annotated(v1.AnnotationFailuresBefore, strconv.Itoa(before))(p)
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func after(failures int) func(*corev1.Pod) {
	return annotated(v1.AnnotationFailuresBefore, strconv.Itoa(failures))
}

func names(pods []*corev1.Pod) []string {
	var list []string
	for _, p := range pods {
		list = append(list, p.Name)
	}
	return list
}

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
	revisions, _ := revisionsOf(o)
	return Report{Manager: o.Manager, Pods: o.Pods, Revisions: revisions, Now: o.Now}
}

// crashed is a container app that was restarted so often, last that long ago, and runs.
func crashed(times int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		last := ended("Error", 1)
		last.Terminated.FinishedAt = metav1.NewTime(now.Add(-ago))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "app", RestartCount: times, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: last,
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
