package plantest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// Now is the time of every test.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Manager returns the PodManager "web" with this many replicas.
func Manager(replicas int32, change ...func(*v1.PodManager)) *v1.PodManager {
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

func Deleting(m *v1.PodManager) { m.DeletionTimestamp = &metav1.Time{Time: Now} }

// Pod returns the pod web-<index> as the controller would have created it. It has been ready for an hour, on its own node.
func Pod(index int, change ...func(*corev1.Pod)) *corev1.Pod {
	m := Manager(0)
	p := plan.NewPod(m, plan.Creation{Index: index, Revision: RevisionFor(m)})
	p.UID = types.UID("uid-" + p.Name)
	p.CreationTimestamp = metav1.NewTime(Now.Add(-2 * time.Hour))
	p.Spec.NodeName = "node-" + strconv.Itoa(index)
	p.Status.Phase = corev1.PodRunning
	ReadyFor(time.Hour)(p)
	for _, c := range change {
		c(p)
	}
	return p
}

func Pods3() []*corev1.Pod { return []*corev1.Pod{Pod(0), Pod(1), Pod(2)} }

func ReadyFor(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Now.Add(-d)),
		}}
	}
}

// Written records that the API server received the pod's status from the kubelet that long ago.
func Written(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kubelet", Subresource: "status", Time: &metav1.Time{Time: Now.Add(-ago)},
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}`),
		})
	}
}

func NotReady(p *corev1.Pod) { p.Status.Conditions = nil }

func Terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Now} }

func Phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		if phase != corev1.PodRunning {
			NotReady(p)
		}
	}
}

func OnNode(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = name } }

func Labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func Annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

// Unannotated makes a pod look as if an earlier version of the controller had created it, which did not annotate pods for Cluster Autoscaler.
func Unannotated(p *corev1.Pod) { delete(p.Annotations, podstate.AnnotationSafeToEvict) }

func Restarted(times int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: times}}
	}
}

func CreatedAgo(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Now.Add(-d)) }
}

func Orphaned(p *corev1.Pod) { p.OwnerReferences = nil }

// Container sets the state of the container "app".
func Container(state corev1.ContainerState, last corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		NotReady(p)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: state, LastTerminationState: last}}
	}
}

func Waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func Terminated(reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}
}

// Stored returns the ControllerRevision of the PodManager's template.
func Stored(m *v1.PodManager, number int64) *appsv1.ControllerRevision {
	return history.Find(history.Sources{Manager: m}).Update.ControllerRevision(m, number)
}

// RevisionFor returns the revision of the PodManager's template, stored as number 1.
func RevisionFor(m *v1.PodManager) *history.Revision {
	revision := history.Find(history.Sources{Manager: m}).Update
	revision.Stored(Stored(m, 1))
	return revision
}

// InBackoff puts the creation of pods from the spec's template into backoff until this time.
func InBackoff(until time.Time) func(*plan.Observed) {
	return func(o *plan.Observed) {
		o.Backoffs = map[requeue.BackoffKey]requeue.Backoff{plan.CreateBackoff(RevisionFor(o.Manager)): {Until: until, Failure: requeue.Failure{Reason: v1.ReasonForbidden}}}
	}
}

// Observe returns an observation without other pods and without a rollout.
func Observe(m *v1.PodManager, pods ...*corev1.Pod) plan.Observed {
	o := plan.Observed{Manager: m, Pods: pods, Revisions: []*appsv1.ControllerRevision{Stored(m, 1)}, Now: Now, Capabilities: inplace.Capabilities{CanResizeAndDrain: true}}
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

// Until returns the time from Now until the next sync; zero means never.
func Until(l requeue.Requeue) time.Duration {
	if l.Never() {
		return 0
	}
	return l.At.Sub(Now)
}

// With changes an observation.
func With(o plan.Observed, changes ...func(*plan.Observed)) plan.Observed {
	for _, change := range changes {
		change(&o)
	}
	return o
}

// FailedPod returns a pod that lived for a minute and failed that long ago. before is how many predecessors have failed in a row.
func FailedPod(index int, ago time.Duration, before int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := Pod(index, Phase(corev1.PodFailed), CreatedAgo(ago+time.Minute))
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: Terminated("Error", 1)}}
	p.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(Now.Add(-ago))
	if before > 0 {
		Annotated(v1.AnnotationFailuresBefore, strconv.Itoa(before))(p)
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// Replacing makes a pod the replacement of other pods.
func Replacing(names ...string) func(*corev1.Pod) {
	return Annotated(v1.AnnotationReplaces, "uid-"+strings.Join(names, ",uid-"))
}

// Created returns the pod that a creation makes, but for its template.
func Created(creation plan.Creation, change ...func(*corev1.Pod)) *corev1.Pod {
	p := Pod(creation.Index, change...)
	if creation.FailuresBefore > 0 {
		After(creation.FailuresBefore)(p)
	}
	health.SetReplaces(p, creation.Replaces)
	return p
}

// After gives a pod this many failed predecessors.
func After(failures int) func(*corev1.Pod) {
	return Annotated(v1.AnnotationFailuresBefore, strconv.Itoa(failures))
}

// HasFailed reports whether the pod counts as failing in a rollout of three replicas.
func HasFailed(p *corev1.Pod) bool { return ShowsFailure(Manager(3), p) }

// ShowsFailure reports whether the pod counts as failing in a rollout of the PodManager.
func ShowsFailure(m *v1.PodManager, p *corev1.Pod) bool {
	m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name}
	judged, found := rollout.Assess(m, history.Find(history.Sources{Manager: m}), inplace.Capabilities{CanResizeAndDrain: true}, nil, nil, Now).AssessFailure(p)
	return found && !judged.Recovered
}

func Names(pods []*corev1.Pod) []string {
	var list []string
	for _, p := range pods {
		list = append(list, p.Name)
	}
	return list
}

// ReasonIn returns the reason of a condition, or empty if there is no such condition.
func ReasonIn(status *v1.PodManagerStatus, kind string) string {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return found.Reason
	}
	return ""
}

// MessageIn returns the message of a condition, or empty if there is no such condition.
func MessageIn(status *v1.PodManagerStatus, kind string) string {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return found.Message
	}
	return ""
}

// InPlaceTo records an update in place to this image that long ago. restarts is the restart count before the update.
func InPlaceTo(name string, restarts int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		OfImage(name)(p)
		note, _ := json.Marshal(inplace.Record{
			Revision: p.Labels[v1.LabelRevision], At: Now.Add(-ago),
			Containers: map[string]inplace.ContainerBefore{"app": {ImageID: "id-before", Restarts: restarts, From: "nginx"}},
		})
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace, string(note))
	}
}

// Rolled records a rollout: the highest number of available pods, how long the clock of the deadline has been running, and the seconds that it ran
// before.
func Rolled(most int32, ago time.Duration, spent int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, MostAvailable: most, SpentSeconds: spent}
		m.Status.ObservedGeneration = m.Generation
		if ago > 0 {
			m.Status.Rollout.Since = ptr.To(metav1.NewTime(Now.Add(-ago)))
		}
	}
}

// Baking records how long enough pods of the new revision have been available at the same time.
func Baking(ago time.Duration) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		if m.Status.Rollout == nil {
			Rolled(0, 0, 0)(m)
		}
		m.Status.Rollout.BakingSince = ptr.To(metav1.NewTime(Now.Add(-ago)))
	}
}

// FailedNow marks the new revision as failed in the status.
func FailedNow(m *v1.PodManager) { m.Status.FailedRevision = RevisionFor(m).Name }

// Because sets the change cause.
func Because(cause string) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Annotations = map[string]string{v1.AnnotationChangeCause: cause} }
}

// TerminationComplete delays the replacement of a pod until the pod is gone.
func TerminationComplete(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }

// Whole replaces spec.image with the equivalent full template.
func Whole(m *v1.PodManager) {
	m.Spec.Template = history.Template(&m.Spec).DeepCopy()
	m.Spec.Image = ""
}

// RestartAt sets spec.restartAt, keeping the time zone of the text.
func RestartAt(text string) func(*v1.PodManager) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return func(m *v1.PodManager) { m.Spec.RestartAt = ptr.To(metav1.NewTime(at)) }
}

// Versions returns stored revisions with these images, numbered from 1.
func Versions(images ...string) []*appsv1.ControllerRevision {
	var list []*appsv1.ControllerRevision
	for i, name := range images {
		list = append(list, Stored(Manager(0, Image(name)), int64(i+1)))
	}
	return list
}

// Stopped makes a pod fail with this reason.
func Stopped(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		Phase(corev1.PodFailed)(p)
		p.Status.Reason, p.Status.Message = reason, message
	}
}

// Targeted adds the condition DisruptionTarget to a pod.
func Targeted(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: status, Reason: corev1.PodReasonPreemptionByScheduler, Message: "made way",
		})
	}
}

// Evicted makes a pod fail because its node is low on memory.
func Evicted(p *corev1.Pod) {
	Stopped("Evicted", "low on memory")(p)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet,
	})
}
