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
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// maxPodNames limits the length of status.podNames and status.leavingPods, so that the status of a huge PodManager stays small.
const maxPodNames = 100

// Report is the outcome of carrying out a plan.
type Report struct {
	Manager *v1.PodManager
	Budget  rollout.Budget
	// Plan is what was decided.
	Plan Decided
	// Pods are the pods whose controller is Manager, including the changes of this sync. Active are the active pods that count, and Leaving are the
	// other active pods.
	Pods, Active []*corev1.Pod
	Leaving      []leaving.Pod
	// Rollout is the rollout of the active pods, and what was concluded from it. It is nil while the PodManager is being deleted.
	Rollout *rollout.Conclusion
	// Failure is why the plan was not carried out completely.
	Failure *requeue.Failure
	Now     time.Time
}

// Decided is what the status reports about a plan.
type Decided struct {
	// ActsOnPods is whether the plan creates, updates or deletes active pods.
	ActsOnPods bool
	// Waiting is the failed pod whose backoff ends next; nil if no failed pod is in backoff.
	Waiting *health.Retry
	// Leaving are pods that still run, but no longer count. Alone is set if pods on drained or lost nodes are not replaced before they are gone.
	Leaving []leaving.Pod
	Alone   bool
	// NodesForbidden is set if the controller may not watch nodes.
	NodesForbidden bool
	// Foreign are the names that the plan skips because pods of other owners have them.
	Foreign []string
}

// Compute returns the new status of the PodManager, and when the status may next change without an event, for example because a ready pod becomes
// available, or because the bake time or a deadline is over.
func Compute(r Report) (v1.PodManagerStatus, requeue.Requeue) {
	old := &r.Manager.Status
	status := v1.PodManagerStatus{
		ObservedGeneration: r.Manager.Generation,
		Replicas:           int32(len(r.Active)),
		LeavingReplicas:    int32(len(r.Leaving)),
		LeavingPods:        leavingPods(r.Leaving),
		Image:              images(history.Template(&r.Manager.Spec)),
		Selector:           podstate.Selector(r.Manager.Name).String(),
		PodNames:           podNames(r.Active),
		CurrentRevision:    old.CurrentRevision,
		UpdateRevision:     old.UpdateRevision,
		CollisionCount:     old.CollisionCount,
	}
	again := countReady(&status, r)
	for _, pod := range r.Pods {
		if pod.DeletionTimestamp != nil {
			status.TerminatingReplicas++
		}
	}
	if r.Manager.DeletionTimestamp != nil {
		status.UpdatedReplicas, status.CurrentReplicas = min(old.UpdatedReplicas, status.Replicas), min(old.CurrentReplicas, status.Replicas)
		status.Conditions = conditions(r, status)
		return status, again
	}
	status.UpdateRevision, status.UpdatedReplicas = r.Rollout.Revisions.Update.Name, int32(len(r.Rollout.UpdatedPods))
	status.FailedRevision, status.CurrentRevision, status.Rollout = r.Rollout.FailedRevision, r.Rollout.CurrentRevision, r.Rollout.Record
	status.CurrentReplicas = r.Rollout.Revisions.Count(r.Active, status.CurrentRevision)
	status.Conditions = conditions(r, status)
	recordStalledResult(r.Manager, &status, r.Rollout.DeadlineExceeded)
	return status, again.Sooner(r.Rollout.Again).Sooner(nextChange(r))
}

// countReady counts the ready and the available pods, and returns when these counts may next change without an event.
func countReady(status *v1.PodManagerStatus, r Report) requeue.Requeue {
	var next time.Duration
	for _, pod := range r.Active {
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

// IsUnfinished quickly checks whether a PodManager may need work: it is being deleted, its status is outdated or not Ready, or its number of pods
// differs from the desired one.
func IsUnfinished(manager *v1.PodManager, pods []*corev1.Pod) bool {
	status := &manager.Status
	return manager.DeletionTimestamp != nil || status.ObservedGeneration != manager.Generation ||
		!meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) || len(pods) != manager.DesiredReplicas()
}
