package inplace

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Record is what a pod tells of its last update in place.
type Record struct {
	// Revision is the hash of the revision that it was changed to.
	Revision string    `json:"revision"`
	At       time.Time `json:"at,omitzero"`
	// Begun tells that the change has begun and is not complete: the pod may have other CPU and memory than its revision
	// says, which it still has.
	Begun bool `json:"begun,omitempty"`
	// Containers has those that the change restarts, as they were before.
	Containers map[string]ContainerBefore `json:"containers,omitempty"`
	// Others has the others that were not as new, as they were before: all kinds of containers.
	Others map[string]OtherBefore `json:"others,omitempty"`
	// Refused is why the API server would not have the change; the pod has its old revision then.
	Refused string `json:"refused,omitempty"`
	// Before is, in that case and for a change that has begun, the record of how the pod got the revision that it has.
	Before *Record `json:"before,omitempty"`
}

// OtherBefore is how a container was before a change that leaves it alone.
type OtherBefore struct {
	Restarts int32 `json:"restarts,omitempty"`
	// Trouble is what kept it from running, see troubleKind.
	Trouble string `json:"trouble,omitempty"`
}

// ContainerBefore is how a container was before a change that restarts it.
type ContainerBefore struct {
	ImageID  string `json:"imageID,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// Trouble is what kept it from running, see troubleKind.
	Trouble string `json:"trouble,omitempty"`
	// From is the image that it runs, if it gets another one, and Had are its CPU and memory, if it is restarted to get others;
	// empty if it is not known which of several it has.
	From string                       `json:"from,omitempty"`
	Had  *corev1.ResourceRequirements `json:"had,omitempty"`
	// Generation is the pod's when that was so. Its node may restart the container once for each one since, besides those that were
	// Seen when the last of the changes was made.
	Generation int64 `json:"generation,omitempty"`
	Seen       int32 `json:"seen,omitempty"`
	// Optional tells that none may come: the change is taken back, and its node may never have followed.
	Optional bool `json:"optional,omitempty"`
}

// unknown is the CPU and memory of a container that its node may have given some of what it was to have, and nobody can tell which.
var unknown = &corev1.ResourceRequirements{}

func isUnknown(had *corev1.ResourceRequirements) bool { return len(had.Requests)+len(had.Limits) == 0 }

// records has annotations that were decoded before: a plan asks for each of them several times, and each plan again.
var records = lru.New(1 << 14)

// hasRecord tells whether the pod was ever to be updated in place. Most were not, and need not be looked at any further.
func hasRecord(pod *corev1.Pod) bool { return pod.Annotations[v1.AnnotationInPlace] != "" }

// lastRecord is what the pod's annotation says; empty if it has none. Nobody may change what it points to.
func lastRecord(pod *corev1.Pod) Record {
	text := pod.Annotations[v1.AnnotationInPlace]
	if text == "" {
		return Record{}
	}
	if known, found := records.Get(text); found {
		return known.(Record)
	}
	var read Record
	if json.Unmarshal([]byte(text), &read) != nil {
		read = Record{}
	}
	records.Add(text, read)
	return read
}

// RefusalOf is why the API server would not have the pod changed to a revision; empty if it was not asked.
func RefusalOf(pod *corev1.Pod, revision string) string {
	if last := lastRecord(pod); last.Revision == revision {
		return last.Refused
	}
	return ""
}

// HasBegun tells whether a change of the pod's CPU or memory has begun and was not completed: whoever did it has died, or
// was given no answer. It is completed, or else what the pod's revision says is restored.
func HasBegun(pod *corev1.Pod) bool { return hasRecord(pod) && lastRecord(pod).Begun }

// CompletedRecord is the record of how the pod got the revision that it has; empty if it was made from it.
func CompletedRecord(pod *corev1.Pod) Record {
	last := lastRecord(pod)
	if last.Refused != "" || last.Begun {
		last = ptr.Deref(last.Before, Record{})
	}
	if last.Revision != pod.Labels[v1.LabelRevision] && !podstate.IsMadeByHand(pod) { // which has no label, and may have been restored
		return Record{}
	}
	return last
}
