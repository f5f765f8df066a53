package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodManagerStatus is what the controller last observed.
type PodManagerStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes. It is -1 until the controller has seen the
	// object, so that a new object is not mistaken for one that is done.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`

	// Replicas is the number of active pods: those that are neither terminating nor finished.
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

	// AvailableReplicas is the number of active pods that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// TerminatingReplicas is the number of pods that are being deleted and still exist.
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// LeavingReplicas is the number of pods that still run, but no longer count, because their node is drained or lost, or because
	// they are too old. The other numbers do not include them.
	// +optional
	LeavingReplicas int32 `json:"leavingReplicas,omitempty"`

	// LeavingPods are the pods that leavingReplicas counts, sorted; the first 100 of them.
	// +optional
	// +listType=atomic
	LeavingPods []LeavingPod `json:"leavingPods,omitempty"`

	// Image has the images of the template in the spec, separated by commas. A column of kubectl get shows it, because a column
	// cannot choose between spec.image and the images of spec.template.
	// +optional
	Image string `json:"image,omitempty"`

	// Selector selects the pods, as text, for kubectl scale and the HorizontalPodAutoscaler.
	// +optional
	Selector string `json:"selector,omitempty"`

	// PodNames are the names of the active pods, sorted; the first 100 of them.
	// +optional
	// +listType=atomic
	PodNames []string `json:"podNames,omitempty"`

	// CurrentRevision names the ControllerRevision of the last good template, to which a rollback returns: enough of its pods
	// were available together for failurePolicy.bakeSeconds. It is empty until a revision is good.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision names the ControllerRevision of the template in the spec.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// FailedRevision names the revision that was rolled back. It is not tried again until the template changes.
	// +optional
	FailedRevision string `json:"failedRevision,omitempty"`

	// CollisionCount is how often the name for a new revision was found to be in use.
	// +optional
	CollisionCount int32 `json:"collisionCount,omitempty"`

	// Rollout is the progress of the current rollout; absent while there is none.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Conditions are Ready, Available and Progressing, and, while they apply, Stalled, ReplicaFailure and Misconfigured.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// LeavingPod is a pod that still runs, but no longer counts.
type LeavingPod struct {
	// Name is the pod's name.
	Name string `json:"name"`

	// Cause is why the pod leaves: its node is drained or lost, or the pod is too old.
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

// RolloutStatus is what the controller has to remember about a rollout to decide whether it fails.
type RolloutStatus struct {
	// Revision names the revision that is being rolled out.
	Revision string `json:"revision"`

	// StartedAt is when the rollout began; absent for the first revision of an object, which is no rollout.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CountedAs is how the rollout was counted in podmanager_rollouts_total if that was before its end: halted or deadline. It
	// stays if the rollout recovers, so that no rollout is counted twice.
	// +optional
	CountedAs string `json:"countedAs,omitempty"`

	// MostAvailable is the highest number of pods of the revision that were available at the same time.
	MostAvailable int32 `json:"mostAvailable"`

	// Replicas is how many pods the spec wanted when the rollout last continued, or the highest number since. If the rollout is
	// paused and the spec now wants fewer pods, the surplus pods are deleted.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// MinReadySeconds is a copy of spec.minReadySeconds. If that changes, the clock of progressDeadlineSeconds starts again at 0.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Since is when the clock of progressDeadlineSeconds was last started. The clock runs only while pods that should have the
	// revision exist and are not available, and stops while the rollout is paused, halted or impossible.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// SpentSeconds is what the clock showed when it was stopped. It is set to 0 at every progress, and when no pod is awaited.
	// +optional
	SpentSeconds int32 `json:"spentSeconds,omitempty"`

	// BakingSince is the time since which enough of its pods have been available together. The revision is good once that has
	// lasted for failurePolicy.bakeSeconds.
	// +optional
	BakingSince *metav1.Time `json:"bakingSince,omitempty"`

	// Failing are pods of the revision that have failed and have not recovered, or have only just recovered; at most 100. If such
	// a pod is gone, its replacement takes over the entry, which stays until the replacement has been available for long enough.
	// +optional
	// +listType=map
	// +listMapKey=uid
	Failing []FailingPod `json:"failing,omitempty"`

	// JudgedBy is the failurePolicy by which the pods in failing were judged, in words. When the user changes the policy, they
	// are judged anew: a halt ends, and pods that still fail have their time to recover again.
	// +optional
	JudgedBy string `json:"judgedBy,omitempty"`
}

// FailingPod is a pod that has failed and not recovered. All times are by the API server's clock.
type FailingPod struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`

	// Since is when it was first seen to have failed. From then on it has failurePolicy.gracePeriodSeconds to recover.
	Since metav1.Time `json:"since"`

	// Crashes is how often its containers have crashed.
	// +optional
	Crashes int32 `json:"crashes,omitempty"`

	// ReadySince is the time since which it has been ready without another crash.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`

	// Condemned means that the pod was not ready when its time to recover was over.
	// +optional
	Condemned bool `json:"condemned,omitempty"`

	// Recovered means that the pod has been available for long enough, so that its earlier crashes no longer count.
	// +optional
	Recovered bool `json:"recovered,omitempty"`
}
