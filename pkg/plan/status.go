package plan

import (
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
	// Pods are the pods whose controller is Manager, with what this sync itself has changed.
	Pods []*corev1.Pod
	// Failure is why the plan could not be carried out in full.
	Failure *Failure
	// Revisions, Waiting and Foreign are the plan's.
	Revisions Revisions
	Waiting   *Retry
	Foreign   []string
	Now       time.Time
}

// Status is what the PodManager's status shall say. The duration is when it will change without any event, because
// pods become available by staying ready, or a deadline passes; zero for never.
func Status(r Report) (v1.PodManagerStatus, time.Duration) {
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
	return statusOfRollout(r, status, active, ended, again)
}

// countReady counts the pods that are ready and available, and returns when that will change by itself.
func countReady(status *v1.PodManagerStatus, r Report, active []*corev1.Pod) (again time.Duration) {
	for _, pod := range active {
		wait, ready := untilAvailable(pod, r.Manager.MinReady(), r.Now)
		switch {
		case !ready:
			continue
		case wait == 0:
			status.AvailableReplicas++
		default:
			again = soonest(again, wait)
		}
		status.ReadyReplicas++
	}
	return again
}

// statusOfRollout adds what there is to say about revisions.
func statusOfRollout(r Report, status v1.PodManagerStatus, active, ended []*corev1.Pod, again time.Duration) (v1.PodManagerStatus, time.Duration) {
	rollout := assess(r.Manager, r.Revisions, active, ended, r.Now)
	available := 0
	for _, pod := range rollout.updated {
		if isAvailable(pod, r.Manager.MinReady(), r.Now) && !isChanging(pod) {
			available++
		}
	}
	status.UpdateRevision = r.Revisions.Update.Name
	status.UpdatedReplicas = int32(len(rollout.updated))
	now := situation{active: active, rollout: rollout}
	settled := readiness(r, status, now).status == metav1.ConditionTrue
	good := rollout.isGood(settled)
	now.progress = follow(rollout, available, good || settled && (rollout.wantBase > 0 || status.Replicas == 0))
	if status.FailedRevision = failedRevision(rollout, now.progress); status.FailedRevision != "" && !rollout.rolledBack {
		// From now on it is another situation.
		now.cause = failureOf(rollout.failing)
		manager := *r.Manager
		manager.Status.FailedRevision = status.FailedRevision
		now.rollout, now.progress.record = assess(&manager, r.Revisions, active, ended, r.Now), nil
	}
	status.Rollout = now.progress.record
	if good {
		status.CurrentRevision = status.UpdateRevision
	}
	for _, pod := range active {
		if r.Manager.Name+"-"+r.Revisions.hashOf(pod) == status.CurrentRevision {
			status.CurrentReplicas++
		}
	}
	status.Conditions = conditions(r, status, now)
	return status, soonest(soonest(again, now.progress.again), rollout.untilForgiven())
}

// isGood tells whether the present revision has proved itself, so that others may return to it.
func (r *rollout) isGood(settled bool) bool {
	return r.isRolling() && settled && r.wantBase == 0 && len(r.updated) > 0 &&
		(len(r.failing) == 0 || r.manager.OnFailure() == v1.ContinueOnFailure)
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
