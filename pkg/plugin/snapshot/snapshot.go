package snapshot

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
)

// Snapshot is what the user can see of one PodManager.
type Snapshot struct {
	Manager *v1.PodManager
	// Pods and Stored are the pods and ControllerRevisions whose controller is Manager.
	Pods   []*corev1.Pod
	Stored []*appsv1.ControllerRevision
	// Orphans are pods that carry Manager's label but have no controller. The controller of PodManagers will adopt them.
	Orphans []*corev1.Pod
	// Missing lists the resources that the user may not read, such as "pods".
	Missing []string
	// User is the name of a user who may not read Missing, for advice. It is empty if the name is not known.
	User string
	Now  time.Time
}

// New selects the pods and revisions of one PodManager from everything that was read.
func New(manager *v1.PodManager, pods []*corev1.Pod, stored []*appsv1.ControllerRevision, missing []string, now time.Time) Snapshot {
	s := Snapshot{Manager: manager, Missing: missing, Now: now}
	for _, pod := range pods {
		switch {
		case metav1.IsControlledBy(pod, manager):
			s.Pods = append(s.Pods, pod)
		case metav1.GetControllerOf(pod) == nil && pod.Labels[v1.LabelManager] == manager.Name && pod.Namespace == manager.Namespace:
			s.Orphans = append(s.Orphans, pod)
		}
	}
	for _, revision := range stored {
		if metav1.IsControlledBy(revision, manager) {
			s.Stored = append(s.Stored, revision)
		}
	}
	slices.SortFunc(s.Pods, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return s
}

// Reads reports whether the user may read a kind of object.
func (s Snapshot) Reads(kind string) bool { return !slices.Contains(s.Missing, kind) }

// Revisions returns the revisions as the controller sees them.
func (s Snapshot) Revisions() history.Revisions {
	return history.Find(history.Sources{Manager: s.Manager, Stored: s.Stored, Pods: s.Pods})
}

// Rollout returns the rollout as a controller with default flags sees it. The result is meaningless if the user may not read pods.
func (s Snapshot) Rollout() *rollout.State {
	active, finished, _ := podstate.Split(s.Pods)
	return rollout.Assess(s.Manager, s.Revisions(), inplace.Capabilities{CanResizeAndDrain: true}, s.WithoutLeaving(active), finished, s.Now)
}

// Leaving returns why a pod is leaving, as the controller says in the status, or nil.
func (s Snapshot) Leaving(pod *corev1.Pod) *v1.LeavingPod {
	for i := range s.Manager.Status.LeavingPods {
		if s.Manager.Status.LeavingPods[i].Name == pod.Name {
			return &s.Manager.Status.LeavingPods[i]
		}
	}
	return nil
}

// WithoutLeaving returns the active pods that are not leaving.
func (s Snapshot) WithoutLeaving(active []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(active), func(pod *corev1.Pod) bool { return s.Leaving(pod) != nil })
}

// Condition returns a condition of the status. It is empty if the status has none of this type.
func (s Snapshot) Condition(kind string) metav1.Condition {
	if found := meta.FindStatusCondition(s.Manager.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// Message returns the state in words. Pods of a PodManager without a status show that a controller is at work: it writes the first status within a few
// seconds.
func (s Snapshot) Message() string {
	if s.IsBegun() {
		return "the controller is creating its pods, and has yet to report on them"
	}
	return follow.Message(s.Manager)
}

// IsBegun reports whether a controller has made pods of a PodManager, and has not reported on it yet.
func (s Snapshot) IsBegun() bool { return s.Manager.Status.ObservedGeneration < 1 && len(s.Pods) > 0 }

// IsObserved reports whether the status is up to date with the spec.
func (s Snapshot) IsObserved() bool {
	return s.Manager.Status.ObservedGeneration == s.Manager.Generation
}

// Images returns the images of a template, separated by commas.
func Images(template *corev1.PodTemplateSpec) string {
	if template == nil {
		return ""
	}
	var images []string
	for i := range template.Spec.Containers {
		images = append(images, template.Spec.Containers[i].Image)
	}
	return strings.Join(images, ",")
}
