package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodManagerStatus is the state that the controller last observed.
type PodManagerStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes. It is -1 until the controller has seen the
	// PodManager, so that the status of a new PodManager is not mistaken for that of a finished rollout.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`

	// Replicas is the number of active pods. A pod is active if it is neither terminating nor finished.
	// +optional
	Replicas int32 `json:"replicas"`

	// CurrentReplicas is the number of active pods of the current revision.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// UpdatedReplicas is the number of active pods made from the template in the spec.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// ReadyReplicas is the number of active pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is the number of active pods that have been ready for at least minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// TerminatingReplicas is the number of pods that are being deleted but still exist.
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// LeavingReplicas is the number of pods that still run but are about to be replaced, because their node is drained or lost, or
	// because they are too old. The other numbers do not include them.
	// +optional
	LeavingReplicas int32 `json:"leavingReplicas,omitempty"`

	// LeavingPods are the first 100 of the pods that leavingReplicas counts, sorted by index.
	// +optional
	// +listType=atomic
	LeavingPods []LeavingPod `json:"leavingPods,omitempty"`

	// Image lists the images of the template in the spec, separated by commas. It exists for the column of kubectl get, because a
	// column cannot choose between spec.image and the images of spec.template.
	// +optional
	Image string `json:"image,omitempty"`

	// Selector is the label selector of the pods as a string, for the scale subresource, which the HorizontalPodAutoscaler reads.
	// +optional
	Selector string `json:"selector,omitempty"`

	// PodNames are the names of the first 100 active pods, sorted.
	// +optional
	// +listType=atomic
	PodNames []string `json:"podNames,omitempty"`

	// CurrentRevision is the name of the last good revision, to which a rollback returns. A revision becomes good when enough of its
	// pods have been available at the same time for failurePolicy.bakeSeconds. CurrentRevision is empty until a revision is good.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the name of the ControllerRevision of the template in the spec.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// FailedRevision is the name of the revision that was rolled back. The controller does not try it again until the template
	// changes.
	// +optional
	FailedRevision string `json:"failedRevision,omitempty"`

	// CollisionCount is how often the name of a new revision was already in use. The names of later revisions depend on it.
	// +optional
	CollisionCount int32 `json:"collisionCount,omitempty"`

	// Rollout is the progress of the current rollout; absent while there is none.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Conditions are Ready, Available and Progressing. Stalled, ReplicaFailure and Misconfigured are present only while they are True.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// LeavingPod is a pod that still runs but no longer counts, because it is about to be replaced.
type LeavingPod struct {
	// Name is the pod's name.
	Name string `json:"name"`

	// Cause is why the pod leaves: its node is drained (Drain) or lost (NodeLoss), or the pod is too old (Age).
	// +kubebuilder:validation:Enum=Drain;NodeLoss;Age
	Cause LeavingCause `json:"cause"`

	// Message describes the cause.
	// +optional
	Message string `json:"message,omitempty"`
}

// LeavingCause is why a pod leaves.
type LeavingCause string

// The causes for which pods leave.
const (
	LeavingForDrain    LeavingCause = "Drain"
	LeavingForNodeLoss LeavingCause = "NodeLoss"
	LeavingForAge      LeavingCause = "Age"
)

// RolloutStatus is what the controller remembers about a rollout to decide whether it has failed.
type RolloutStatus struct {
	// Revision is the name of the revision that is being rolled out.
	Revision string `json:"revision"`

	// StartedAt is when the rollout began. It is absent for the first revision of a PodManager, which does not count as a rollout.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CountedAs is the result with which the metric podmanager_rollouts_total has counted the rollout before its end: halted or
	// deadline. It stays if the rollout recovers, so that no rollout is counted twice.
	// +optional
	CountedAs string `json:"countedAs,omitempty"`

	// MostAvailable is the highest number of pods of the revision that have been available at the same time.
	MostAvailable int32 `json:"mostAvailable"`

	// Replicas is how many pods the spec wanted when the rollout was last not paused, or the highest number since. If spec.replicas
	// falls below it during a pause, surge pods are deleted although the rollout is paused.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// MinReadySeconds is a copy of spec.minReadySeconds. When that changes, the clock of progressDeadlineSeconds starts again at 0.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Since is when the clock of progressDeadlineSeconds was last started. The clock runs only while there are pods of the revision
	// that are not available. It stops while the rollout is paused or halted, or cannot continue in place.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// SpentSeconds is what the clock showed when it was last stopped. It becomes 0 when the rollout progresses, and when the rollout
	// waits for no pod.
	// +optional
	SpentSeconds int32 `json:"spentSeconds,omitempty"`

	// BakingSince is the time since which enough pods of the revision have been available at the same time. The revision is good
	// once that has lasted for failurePolicy.bakeSeconds.
	// +optional
	BakingSince *metav1.Time `json:"bakingSince,omitempty"`

	// Failing are at most 100 pods of the revision that have failed, and have not recovered or have recovered only recently. If such
	// a pod is gone, its replacement takes over the entry, which stays until the replacement has been available for long enough.
	// +optional
	// +listType=map
	// +listMapKey=uid
	Failing []FailingPod `json:"failing,omitempty"`

	// JudgedBy describes the failurePolicy by which the controller has judged the pods in failing. When the user changes the policy,
	// the controller judges them anew: a halt ends, and pods that still fail have their full time to recover again.
	// +optional
	JudgedBy string `json:"judgedBy,omitempty"`
}

// FailingPod is a pod that has failed. All times are by the API server's clock.
type FailingPod struct {
	// Name is the pod's name.
	Name string `json:"name"`

	// UID is the pod's UID.
	UID types.UID `json:"uid"`

	// Since is when the controller first saw that the pod had failed. From then on, the pod has failurePolicy.gracePeriodSeconds to
	// recover.
	Since metav1.Time `json:"since"`

	// Crashes is how often the pod's containers have crashed.
	// +optional
	Crashes int32 `json:"crashes,omitempty"`

	// ReadySince is the time since which the pod has been ready without another crash.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`

	// Condemned means that the pod was not ready when its time to recover was over.
	// +optional
	Condemned bool `json:"condemned,omitempty"`

	// Recovered means that the pod has been available for long enough, so that its earlier crashes no longer count.
	// +optional
	Recovered bool `json:"recovered,omitempty"`
}
