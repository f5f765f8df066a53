package status

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// maxPodNames limits the length of status.podNames, so that the status of a huge PodManager stays small.
const maxPodNames = 100

// Report is the outcome of carrying out a plan.
type Report struct {
	Manager *v1.PodManager
	// Plan is what was decided.
	Plan Decided
	// Pods are the pods whose controller is Manager, including the changes of this sync. Changed is set if they differ from the pods that the plan
	// was made for.
	Pods    []*corev1.Pod
	Changed bool
	// Failure is why the plan was not carried out completely.
	Failure *requeue.Failure
	Now     time.Time
}

// Decided is what the status reports about a plan.
type Decided struct {
	// Revisions are the revisions that the plan is about.
	Revisions history.Revisions
	// Assessed is the rollout state that the plan is based on, and Capabilities is what the controller can do.
	Assessed     *rollout.State
	Capabilities inplace.Capabilities
	// ActsOnPods is whether the plan creates, updates or deletes active pods.
	ActsOnPods bool
	// Waiting is the failed pod whose backoff ends next; nil if no failed pod is in backoff.
	Waiting *health.Retry
	// Leaving are pods that still run, but no longer count. Alone is set if pods on drained or lost nodes get no replacement.
	Leaving []leaving.Pod
	Alone   bool
	// NodesForbidden is set if the controller may not watch nodes.
	NodesForbidden bool
	// Foreign are the names that the plan skips because pods of other owners have them.
	Foreign []string
}

// Compute returns the new status of the PodManager, and when it will change without an event, because ready pods become available or a deadline passes.
func Compute(r Report) (v1.PodManagerStatus, requeue.Requeue) {
	kept, _ := podstate.KeepOrRelease(r.Manager, r.Pods)
	active, finished, _ := podstate.Split(kept)
	active, leaves := withoutLeaving(r, active)
	old := &r.Manager.Status
	status := v1.PodManagerStatus{
		ObservedGeneration: r.Manager.Generation,
		Replicas:           int32(len(active)),
		LeavingReplicas:    int32(leaves),
		Image:              images(history.Template(&r.Manager.Spec)),
		Selector:           podstate.Selector(r.Manager.Name).String(),
		PodNames:           podNames(active),
		CurrentRevision:    old.CurrentRevision,
		UpdateRevision:     old.UpdateRevision,
		CollisionCount:     old.CollisionCount,
	}
	again := countReady(&status, r, active)
	for _, pod := range r.Pods {
		if pod.DeletionTimestamp != nil {
			status.TerminatingReplicas++
		}
	}
	if r.Manager.DeletionTimestamp != nil {
		status.UpdatedReplicas, status.CurrentReplicas = min(old.UpdatedReplicas, status.Replicas), min(old.CurrentReplicas, status.Replicas)
		status.Conditions = conditions(r, status, inputs{active: active})
		return status, again
	}
	state := r.Plan.Assessed
	if r.Changed || state == nil {
		state = rollout.Assess(r.Manager, r.Plan.Revisions, r.Plan.Capabilities, active, finished, r.Now, leaving.PodsOf(r.Plan.Leaving)...)
	}
	return statusOfRollout(r, status, state, active, finished, again)
}

// countReady counts the ready and the available pods, and returns when the next ready pod becomes available.
func countReady(status *v1.PodManagerStatus, r Report, active []*corev1.Pod) requeue.Requeue {
	var next time.Duration
	for _, pod := range active {
		wait, ready := health.UntilAvailable(pod, r.Manager.MinReady(), r.Now)
		switch {
		case !ready:
			next = requeue.Sooner(next, wait)
			continue
		case wait == 0:
			status.AvailableReplicas++
		default:
			next = requeue.Sooner(next, wait)
		}
		status.ReadyReplicas++
	}
	return requeue.After(r.Now, next, requeue.RequeueAvailable)
}

// statusOfRollout adds the revisions, the record of the rollout and the conditions.
func statusOfRollout(
	r Report, status v1.PodManagerStatus, state *rollout.State, active, finished []*corev1.Pod, again requeue.Requeue,
) (v1.PodManagerStatus, requeue.Requeue) {
	available := 0
	for _, pod := range state.UpdatedPods {
		if health.IsAvailable(pod, r.Manager.MinReady(), r.Now) && !inplace.IsUpdating(pod) {
			available++
		}
	}
	status.UpdateRevision = state.Revisions.Update.Name
	status.UpdatedReplicas = int32(len(state.UpdatedPods))
	in := inputs{active: active, rollout: state, progress: rollout.TrackProgress(state, available)}
	if status.FailedRevision = rollout.FailedRevision(state, in.progress); status.FailedRevision != "" && !state.RolledBack {
		// The revision fails with this status, so the conditions describe the rollback.
		in.cause = "its pods did not become available in time"
		if in.progress.RecoveryExpired {
			in.cause = failure(state)
		}
		manager := *r.Manager
		manager.Status.FailedRevision = status.FailedRevision
		in.rollout, in.progress.Record = rollout.Assess(&manager, state.Revisions, r.Plan.Capabilities, active, finished, r.Now, leaving.PodsOf(r.Plan.Leaving)...), nil
	}
	if current := state.Revisions.Current; current != nil {
		status.CurrentRevision = current.Name
	}
	status.Rollout = in.progress.Record
	again = again.Sooner(promoteCurrentRevision(&status, state))
	status.CurrentReplicas = state.Revisions.Count(active, status.CurrentRevision)
	status.Conditions = conditions(r, status, in)
	recordStalledResult(r.Manager, &status, in.progress.DeadlineExceeded)
	return status, again.Sooner(in.progress.Again).Sooner(in.nextChange(r))
}

// promoteCurrentRevision sets currentRevision once a revision is proven, and returns when the next one may be.
func promoteCurrentRevision(status *v1.PodManagerStatus, r *rollout.State) requeue.Requeue {
	wait, started := r.UntilProven()
	if started && wait == 0 && r.Revisions.Update.IsStored() {
		status.CurrentRevision = r.Revisions.Update.Name
	}
	if r.IsOldProven() && r.Old.IsStored() {
		status.CurrentRevision = r.Old.Name
	}
	return requeue.After(r.Now, wait, requeue.RequeueProven)
}

// Differs reports whether a status is worth writing.
func Differs(old, status *v1.PodManagerStatus) bool {
	return !equality.Semantic.DeepEqual(old, status)
}

// RemembersTheSame reports whether two statuses agree in the fields that later plans are based on.
func RemembersTheSame(a, b *v1.PodManagerStatus) bool {
	return a.CurrentRevision == b.CurrentRevision && a.FailedRevision == b.FailedRevision && a.CollisionCount == b.CollisionCount &&
		equality.Semantic.DeepEqual(a.Rollout, b.Rollout)
}

// images returns the images of the template's containers, for kubectl get.
func images(template *corev1.PodTemplateSpec) string {
	names := make([]string, 0, len(template.Spec.Containers))
	for i := range template.Spec.Containers {
		names = append(names, template.Spec.Containers[i].Image)
	}
	return strings.Join(names, ",")
}

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.SortFunc(names, podstate.ByIndex)
	return names[:min(len(names), maxPodNames)]
}

// IsUnfinished is a quick check whether a PodManager may need work: its status is outdated or not Ready, or its number of pods differs from the
// desired one.
func IsUnfinished(manager *v1.PodManager, pods []*corev1.Pod) bool {
	status := &manager.Status
	return manager.DeletionTimestamp != nil || status.ObservedGeneration != manager.Generation ||
		!meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) || len(pods) != manager.DesiredReplicas()
}
