package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/bounds"
)

// Record describes the last update in place of a pod. The controller writes it as JSON to an annotation of the pod with each update, because the
// pod's status does not show why the kubelet restarted a container. The Record holds the state of the containers before the update. Compared with
// the current status, it shows whether the kubelet has carried out the update (progress.go), and which restarts and troubles the update does not
// explain (restarts.go).
//
// An update that resizes the pod takes three requests. BeginPatch writes a Record with Begun. ResizePatch changes CPU and memory. Patch changes
// everything else, including the revision label, and writes the final Record. If an image changes too, Patch waits for the kubelet, see StepResize.
// Between these requests the update is interrupted, and the controller may stop there. A later sync then completes it, or restores the CPU and
// memory of the revision that the pod still has.
type Record struct {
	// Revision is the hash of the revision that the update gives the pod.
	Revision string `json:"revision"`
	// At is when the update was made. While the update is not complete, it is when the update began.
	At time.Time `json:"at,omitzero"`
	// Restored is set if the update has only restored the CPU and memory of the revision that the pod already had, see StepRestore. RevisionAt is then
	// when an earlier update gave the pod that revision. It is zero if the pod was created from it.
	Restored   bool      `json:"restored,omitempty"`
	RevisionAt time.Time `json:"revisionAt,omitzero"`
	// Begun is set if the update has begun and is not complete: the pod still has its old revision, but its CPU and memory may differ from that
	// revision.
	Begun bool `json:"begun,omitempty"`
	// Resized is set if the update resized the pod, or if the kubelet had yet to carry out an earlier resize.
	Resized bool `json:"resized,omitempty"`
	// Containers has the state of the containers that the kubelet restarts, or may restart, for the update.
	Containers map[string]ContainerBefore `json:"containers,omitempty"`
	// Others has the state of all other containers and init containers that had restarts or trouble before the update.
	Others map[string]OtherBefore `json:"others,omitempty"`
	// Refused is why the API server refused the update. The pod keeps its old revision.
	Refused string `json:"refused,omitempty"`
	// RetryAt is when a forbidden update may be retried, because a quota or a policy may have changed. It is zero if the API server found the
	// update invalid, which does not change.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Before is set for an update that has Begun or was Refused. It is the Record of the update by which the pod got its present revision, or nil
	// if the pod was created from that revision.
	Before *Record `json:"before,omitempty"`
}

// needsKubelet reports whether the kubelet had work to do for the update.
func (r Record) needsKubelet() bool { return r.Resized || len(r.Containers) > 0 }

// OtherBefore is the state of a container before an update that does not restart it.
type OtherBefore struct {
	Restarts int32 `json:"restarts,omitempty"`
	// Trouble is what kept the container from running, see podstate.TroubleKind.
	Trouble string `json:"trouble,omitempty"`
	// Starting is set if the kubelet had just restarted the container for an earlier update, so that its startup probe was still awaited.
	Starting bool `json:"starting,omitempty"`
}

// ContainerBefore is the state of a container before an update that restarts it. If the kubelet had seen an earlier update by then, and had yet to
// restart the container for it, all fields except Trouble are the state before that earlier update.
type ContainerBefore struct {
	// ImageID is empty if the container had not been started.
	ImageID  string `json:"imageID,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// Trouble is what kept the container from running, see podstate.TroubleKind.
	Trouble string `json:"trouble,omitempty"`
	// From is the old image in the pod's spec if the update changes the image. If the restart is Optional, it is the image that the update reverts.
	From string `json:"from,omitempty"`
	// Had is the old CPU and memory if the resize restarts the container. It is empty, but not nil, if the kubelet had not finished an earlier
	// resize, because then the container's resources are unknown.
	Had *corev1.ResourceRequirements `json:"had,omitempty"`
	// Generation is the pod's generation at that time. The kubelet may restart the container once for each generation since.
	Generation int64 `json:"generation,omitempty"`
	// Optional is set if the kubelet may have no reason to restart the container: the update reverts an earlier one that the kubelet may never
	// carry out.
	Optional bool `json:"optional,omitempty"`
}

// maxRecordLength is the maximum length of a Record's annotation. The Record of a pod with 100 containers takes a fourth of it. Every client that may
// write the pod may write the annotation.
const maxRecordLength = 128 << 10

// decoded caches Records by the text of their annotation, because every plan reads each of them several times.
var decoded = bounds.NewCache[Record](8 << 20)

// hasRecord reports whether the pod has a Record. Most pods have none, and need no further checks.
func hasRecord(pod *corev1.Pod) bool { return pod.Annotations[v1.AnnotationInPlace] != "" }

// lastRecord returns the Record in the pod's annotation, or an empty one if there is none, or if it is none of ours: too long, or too expensive to
// decode. Callers must not modify its maps, which the cache shares.
func lastRecord(pod *corev1.Pod) Record {
	text := pod.Annotations[v1.AnnotationInPlace]
	if text == "" || len(text) > maxRecordLength {
		return Record{}
	}
	return decoded.Get(text, func() (record Record) {
		if bounds.Unmarshal([]byte(text), &record) != nil {
			return Record{}
		}
		return record
	})
}

// RefusalOf returns why the API server refused to update the pod in place to a revision, or empty if it did not.
func RefusalOf(pod *corev1.Pod, revision string) string {
	if last := lastRecord(pod); last.Revision == revision {
		return last.Refused
	}
	return ""
}

// UntilRetry returns the time until the pod's last update, which was refused, may be retried. known is false if it must not be retried, or was not
// refused.
func UntilRetry(pod *corev1.Pod, now time.Time) (wait time.Duration, known bool) {
	if !hasRecord(pod) {
		return 0, false
	}
	last := lastRecord(pod)
	return max(0, last.RetryAt.Sub(now)), last.Refused != "" && !last.RetryAt.IsZero()
}

// IsInterrupted reports whether an update of the pod has begun and is not complete, see Record. Either it waits for the kubelet, or the controller
// died or got no response after BeginPatch, or the API server refused the final Patch.
func IsInterrupted(pod *corev1.Pod) bool { return begunRecord(pod).Begun }

// begunRecord returns the Record of an update that has begun and is not complete, or an empty one if there is none.
func begunRecord(pod *corev1.Pod) Record {
	if last := lastRecord(pod); last.Begun {
		return last
	}
	return Record{}
}

// CompletedRecord returns the Record of the update by which the pod got its revision. It is empty if the pod was created from that revision.
func CompletedRecord(pod *corev1.Pod) Record {
	last := lastRecord(pod)
	if last.Refused != "" || last.Begun {
		last = ptr.Deref(last.Before, Record{})
	}
	if last.Revision != pod.Labels[v1.LabelRevision] {
		return Record{}
	}
	return last
}
