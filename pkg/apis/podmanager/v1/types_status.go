package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodManagerStatus is what the controller last observed.
type PodManagerStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of. It is -1 until the controller
	// has seen the object, so that a fresh object is never mistaken for a finished one.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`

	// Replicas is the number of active pods: neither ending nor ended.
	// +optional
	Replicas int32 `json:"replicas"`

	// CurrentReplicas is the number of active pods of the current revision.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// UpdatedReplicas is the number of active pods made from the present template.
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

	// Image has the images of the present template, separated by commas. It is here because a column of kubectl get
	// cannot show spec.image or the template's images, whichever is set.
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
	// were available together for failurePolicy.bakeSeconds. It is empty until there was one.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision names the ControllerRevision of the present template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// FailedRevision names the revision that was rolled back. It is not tried again until the template changes.
	// +optional
	FailedRevision string `json:"failedRevision,omitempty"`

	// CollisionCount is how often the name for a new revision was found to be in use.
	// +optional
	CollisionCount int32 `json:"collisionCount,omitempty"`

	// Rollout is how far the rollout under way has come; absent while there is none.
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

// RolloutStatus is what the controller has to remember of a rollout to judge it.
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

	// MostAvailable is the highest number of its pods that were available at the same time, among those that are to have it.
	MostAvailable int32 `json:"mostAvailable"`

	// Replicas is how many pods were wanted when the rollout last went on, or the most since. If it is paused and fewer are
	// wanted by now, none stays beside them.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// MinReadySeconds is a copy of spec.minReadySeconds. The clock of progressDeadlineSeconds starts anew when it changes.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Since is since when the clock of progressDeadlineSeconds has been running. It runs only while pods that are to have the
	// revision by now exist and are not available, and stands still while the rollout is paused, halted or impossible.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// SpentSeconds is what the clock showed when it was stopped. It starts at 0 again with every progress, and when no pod is waited for.
	// +optional
	SpentSeconds int32 `json:"spentSeconds,omitempty"`

	// BakingSince is since when enough of its pods have been available together to make it the revision to return to, once
	// failurePolicy.bakeSeconds have passed.
	// +optional
	BakingSince *metav1.Time `json:"bakingSince,omitempty"`

	// Failing are pods of the revision that have failed and not recovered, or only just have; the first 100 of them. If one is
	// gone, its replacement takes its place here: the failure stays until that has been available for long enough.
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

	// ReadySince is since when it has been seen ready without another crash.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`

	// Condemned means that the pod was not ready when its time to recover was over.
	// +optional
	Condemned bool `json:"condemned,omitempty"`

	// Recovered means that the pod has been available for long enough: its crashes so far do not count any more.
	// +optional
	Recovered bool `json:"recovered,omitempty"`
}
