package plan

import (
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// now is the time of every test.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// manager is the PodManager "web" that wants this many pods.
func manager(replicas int32, change ...func(*v1.PodManager)) *v1.PodManager {
	m := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "uid-web", Generation: 7,
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
	return findRevisions(Sources{Manager: m}).Update.object(m, number)
}

// revisionFor is the same as a revision.
func revisionFor(m *v1.PodManager) *Revision {
	revision := findRevisions(Sources{Manager: m}).Update
	revision.Stored(stored(m, 1))
	return revision
}

// reported is a report about pods at rest.
func reported(m *v1.PodManager, pods ...*corev1.Pod) Report {
	o := observe(m, pods...)
	return Report{Manager: m, Plan: Plan{Revisions: findRevisions(o.sources())}, Pods: pods, Now: o.Now}
}

// held is the hold on creating pods of the present template.
func held(until time.Time) func(*Observed) {
	return func(o *Observed) {
		o.Holds = map[HoldKey]Hold{createHold(revisionFor(o.Manager)): {Until: until, Failure: Failure{Reason: v1.ReasonForbidden}}}
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

// until is how long it is from now until the next look; zero for never.
func until(l LookAgain) time.Duration {
	if l.Never() {
		return 0
	}
	return l.At.Sub(now)
}

// with changes an observation.
func with(o Observed, changes ...func(*Observed)) Observed {
	for _, change := range changes {
		change(&o)
	}
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

// hasFailed tells whether the pod shows a failure.
func hasFailed(p *corev1.Pod) bool { return showsFailure(manager(3), p) }

// showsFailure is the same for another PodManager, which is in the middle of a rollout.
func showsFailure(m *v1.PodManager, p *corev1.Pod) bool {
	m.Status.Rollout = &v1.RolloutStatus{Revision: revisionFor(m).Name}
	judged, found := assess(m, findRevisions(Sources{Manager: m}), nil, nil, now).judge(p)
	return found && !judged.Recovered
}

func names(pods []*corev1.Pod) []string {
	var list []string
	for _, p := range pods {
		list = append(list, p.Name)
	}
	return list
}
