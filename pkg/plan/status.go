package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// maxPodNames bounds status.podNames, so that the status of a huge PodManager stays small.
const maxPodNames = 100

// Report is what is known once a plan was carried out.
type Report struct {
	Manager *v1.PodManager
	// Plan is what was decided.
	Plan Plan
	// Pods are the pods whose controller is Manager, with what this sync itself has changed. Changed tells that they are not
	// those that the plan was made for.
	Pods    []*corev1.Pod
	Changed bool
	// Failure is why the plan could not be carried out in full.
	Failure *Failure
	Now     time.Time
}

// Status is what the PodManager's status shall say, and when that will change without any event, because pods become available
// by staying ready, or a deadline passes.
func Status(r Report) (v1.PodManagerStatus, LookAgain) {
	kept, _ := keepOrRelease(r.Manager, r.Pods)
	active, ended, _ := split(kept)
	old := &r.Manager.Status
	status := v1.PodManagerStatus{
		ObservedGeneration: r.Manager.Generation,
		Replicas:           int32(len(active)),
		Image:              images(Template(&r.Manager.Spec)),
		Selector:           Selector(r.Manager.Name).String(),
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
		status.Conditions = conditions(r, status, situation{active: active})
		return status, again
	}
	rollout := r.Plan.assessed
	if r.Changed || rollout == nil {
		rollout = assess(r.Manager, r.Plan.Revisions, active, ended, r.Now)
	}
	return statusOfRollout(r, status, rollout, active, ended, again)
}

// countReady counts the pods that are ready and available, and returns when that will change by itself.
func countReady(status *v1.PodManagerStatus, r Report, active []*corev1.Pod) LookAgain {
	var next time.Duration
	for _, pod := range active {
		wait, ready := untilAvailable(pod, r.Manager.MinReady(), r.Now)
		switch {
		case !ready:
			continue
		case wait == 0:
			status.AvailableReplicas++
		default:
			next = soonest(next, wait)
		}
		status.ReadyReplicas++
	}
	return After(r.Now, next, AgainAvailable)
}

// statusOfRollout adds what there is to say about revisions.
func statusOfRollout(r Report, status v1.PodManagerStatus, rollout *rollout, active, ended []*corev1.Pod, again LookAgain) (v1.PodManagerStatus, LookAgain) {
	available := 0
	for _, pod := range rollout.updated {
		if isAvailable(pod, r.Manager.MinReady(), r.Now) && !isChanging(pod) {
			available++
		}
	}
	status.UpdateRevision = rollout.revisions.Update.Name
	status.UpdatedReplicas = int32(len(rollout.updated))
	now := situation{active: active, rollout: rollout, progress: follow(rollout, available)}
	if status.FailedRevision = failedRevision(rollout, now.progress); status.FailedRevision != "" && !rollout.rolledBack {
		// From now on it is another situation.
		now.cause = "its pods did not become available in time"
		if now.progress.condemned {
			now.cause = failureOf(rollout.failing)
		}
		manager, revisions := *r.Manager, rollout.revisions
		manager.Status.FailedRevision, revisions.Current = status.FailedRevision, rollout.base
		status.CurrentRevision = rollout.base.Name
		now.rollout, now.progress.record = assess(&manager, revisions, active, ended, r.Now), nil
	}
	status.Rollout = now.progress.record
	again = again.Sooner(nameGood(&status, rollout))
	status.CurrentReplicas = rollout.revisions.count(active, status.CurrentRevision)
	status.Conditions = conditions(r, status, now)
	return status, again.Sooner(now.progress.again).Sooner(now.untilSaid(r))
}

// nameGood writes down which revision has proved itself, and returns when the next may have.
func nameGood(status *v1.PodManagerStatus, r *rollout) LookAgain {
	wait, underway := r.untilGood()
	if underway && wait == 0 && r.revisions.Update.stored != nil {
		status.CurrentRevision = r.revisions.Update.Name
	}
	baseWait, baseUnderway := r.untilBaseGood()
	if baseUnderway && baseWait == 0 && status.CurrentRevision == "" {
		status.CurrentRevision = r.base.Name
	}
	return After(r.now, soonest(wait, baseWait), AgainProven)
}

// count is how many pods are of the revision with this name.
func (r Revisions) count(active []*corev1.Pod, name string) (count int32) {
	for _, revision := range append(slices.Collect(maps.Values(r.others)), r.Update) {
		if revision.Name != name {
			continue
		}
		for _, pod := range active {
			if r.hashOf(pod) == revision.Hash {
				count++
			}
		}
		break
	}
	return count
}

// StatusDiffers tells whether a status is worth writing.
func StatusDiffers(old, status *v1.PodManagerStatus) bool {
	return !equality.Semantic.DeepEqual(old, status)
}

// isNews tells whether a status has more to say than other counts: nobody should have to wait for that.
func isNews(old, status *v1.PodManagerStatus) bool {
	if len(old.Conditions) != len(status.Conditions) || old.UpdateRevision != status.UpdateRevision ||
		old.CurrentRevision != status.CurrentRevision || old.FailedRevision != status.FailedRevision {
		return true
	}
	for _, condition := range status.Conditions {
		before := meta.FindStatusCondition(old.Conditions, condition.Type)
		// That enough pods are available is good, but Ready, which is about all of them, is often just about to follow.
		isPartial := condition.Type == v1.ConditionAvailable && condition.Status == metav1.ConditionTrue
		if before == nil || before.Status != condition.Status && !isPartial {
			return true
		}
	}
	return false
}

// RemembersTheSame tells whether two statuses agree in what later decisions rest on.
func RemembersTheSame(a, b *v1.PodManagerStatus) bool {
	return a.CurrentRevision == b.CurrentRevision && a.FailedRevision == b.FailedRevision && a.CollisionCount == b.CollisionCount &&
		equality.Semantic.DeepEqual(a.Rollout, b.Rollout)
}

// images are the template's images, for people.
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
	slices.SortFunc(names, ByIndex)
	return names[:min(len(names), maxPodNames)]
}

// ByIndex compares pod names so that web-2 comes before web-10.
func ByIndex(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}

// IsUnfinished tells, at a glance, whether a PodManager's pods are not as it says of itself, or not as it wants them.
func IsUnfinished(manager *v1.PodManager, pods []*corev1.Pod) bool {
	status := &manager.Status
	return manager.DeletionTimestamp != nil || status.ObservedGeneration != manager.Generation ||
		!meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) || len(pods) != manager.DesiredReplicas()
}
