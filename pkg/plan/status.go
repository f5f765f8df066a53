package plan

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

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
	// Waiting and Foreign are the plan's.
	Waiting *Retry
	Foreign []string
	Now     time.Time
}

// Status is what the PodManager's status shall say. The duration is when it will change without any event, because
// pods become available by staying ready; zero for never.
func Status(r Report) (v1.PodManagerStatus, time.Duration) {
	kept, _ := keepOrRelease(r.Manager, r.Pods)
	active, _ := split(kept)
	template := Template(&r.Manager.Spec)
	status := v1.PodManagerStatus{
		ObservedGeneration: r.Manager.Generation,
		Replicas:           int32(len(active)),
		Image:              images(template),
		Selector:           Selector(r.Manager.Name).String(),
		PodNames:           podNames(active),
	}
	revision := Revision(template)
	minReady := time.Duration(r.Manager.Spec.MinReadySeconds) * time.Second
	var again time.Duration
	for _, pod := range active {
		if pod.Labels[v1.LabelRevision] == revision {
			status.UpdatedReplicas++
		}
		wait, ready := untilAvailable(pod, minReady, r.Now)
		switch {
		case !ready:
			continue
		case wait == 0:
			status.AvailableReplicas++
		case again == 0 || wait < again:
			again = wait
		}
		status.ReadyReplicas++
	}
	for _, pod := range r.Pods {
		if pod.DeletionTimestamp != nil {
			status.TerminatingReplicas++
		}
	}
	status.Conditions = conditions(r, status, active)
	return status, again
}

// StatusDiffers tells whether a status is worth writing.
func StatusDiffers(old, status *v1.PodManagerStatus) bool {
	return !equality.Semantic.DeepEqual(old, status)
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
