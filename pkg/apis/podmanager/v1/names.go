package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind is the kind of the custom resource.
const Kind = "PodManager"

// GroupVersionKind is Kind with its group and version.
var GroupVersionKind = schema.GroupVersionKind{Group: GroupName, Version: "v1", Kind: Kind}

// ControllerName is the controller's name in events and as a field manager.
const ControllerName = "podmanager-controller"

// What the controller puts on the objects that it owns, and looks for on them.
const (
	// LabelManager holds the PodManager's name. It is the selector.
	LabelManager = "podmanager"
	// LabelManagerUID holds the PodManager's UID. It distinguishes pods of a deleted PodManager of the same name.
	LabelManagerUID = "podmanager-uid"
	// LabelRevision holds the hash of the template that the pod was made from.
	LabelRevision = "apps.mycompany.com/revision"
	// LabelPodIndex holds the number at the end of the pod's name.
	LabelPodIndex = "apps.kubernetes.io/pod-index"
	// LabelShard, on pods and revisions, holds the shard of the PodManager, such as 3-of-16. Without shards it means nothing.
	LabelShard = "apps.mycompany.com/shard"
	// LabelApp is set to the PodManager's name unless the template has its own.
	LabelApp = "app"

	// AnnotationDelete, with the value "true", marks a pod for deletion: it is the first to go if there are too many pods, and is
	// replaced otherwise.
	AnnotationDelete = "apps.mycompany.com/delete"
	// AnnotationFailuresBefore is how many pods have failed in a row before this pod was created to replace the last of them.
	AnnotationFailuresBefore = "apps.mycompany.com/failures-before"
	// AnnotationDisruptionsBefore is how many of them were stopped by their node, which says nothing about the template.
	AnnotationDisruptionsBefore = "apps.mycompany.com/disruptions-before"

	// AnnotationInPlace describes, in JSON, the last update of the pod in place.
	AnnotationInPlace = "apps.mycompany.com/in-place-update"
	// AnnotationRestartedAt, in the template, asks for new pods although nothing else differs. It is where spec.restartAt goes.
	AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"
	// AnnotationChangeCause, on a PodManager, says why its template was changed. It is copied to the revision.
	AnnotationChangeCause = "kubernetes.io/change-cause"
	// AnnotationFailed, on a ControllerRevision, means that the revision has failed: it was rolled back, or is halted for good.
	// AnnotationGood is the time since which a rollback may return to it. The status says the same; if the status is lost, the controller restores
	// it from these annotations.
	AnnotationFailed = "apps.mycompany.com/failed"
	AnnotationGood   = "apps.mycompany.com/good-since"

	// InPlaceReady is the readiness gate, and the condition, that keeps a pod out of its Services while it is changed.
	InPlaceReady = "apps.mycompany.com/in-place-ready"

	// Finalizer keeps a deleted PodManager until its pods are gone or released.
	Finalizer = "apps.mycompany.com/podmanager"

	// ShorthandContainer names the one container of the short form, spec.image.
	ShorthandContainer = "app"
)

// Condition types.
const (
	// ConditionReady is True when the cluster matches the spec: all pods are available and have the template of the spec, unless the
	// partition or OnDelete keeps an older one, and there is no surplus pod.
	ConditionReady = "Ready"
	// ConditionAvailable is True while at least as many pods are available as a rolling update has to keep available.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while the controller is making the cluster match the spec.
	ConditionProgressing = "Progressing"
	// ConditionStalled exists, and is then True, only while the controller cannot continue until a user acts.
	ConditionStalled = "Stalled"
	// ConditionReplicaFailure exists, and is then True, only while creating or deleting pods fails.
	ConditionReplicaFailure = "ReplicaFailure"
	// ConditionMisconfigured exists, and is then True, only while the spec asks for something impossible.
	ConditionMisconfigured = "Misconfigured"
)

// Reasons of the conditions.
const (
	ReasonAllAvailable        = "AllReplicasAvailable"
	ReasonBaking              = "Baking"
	ReasonScaledToZero        = "ScaledToZero"
	ReasonTooFew              = "TooFewReplicas"
	ReasonTooMany             = "TooManyReplicas"
	ReasonPodsNotReady        = "PodsNotReady"
	ReasonMinReady            = "WaitingForMinReadySeconds"
	ReasonPartition           = "PartitionReached"
	ReasonRollingOut          = "RollingOut"
	ReasonSurgeBlocked        = "SurgeBlocked"
	ReasonReplacementLate     = "ReplacementLate"
	ReasonReplacementBlocked  = "ReplacementBlocked"
	ReasonNodesForbidden      = "NodesForbidden"
	ReasonPaused              = "Paused"
	ReasonHalted              = "RolloutHalted"
	ReasonRolledBack          = "RolledBack"
	ReasonDeadline            = "ProgressDeadlineExceeded"
	ReasonNotInPlace          = "InPlaceImpossible"
	ReasonTerminating         = "Terminating"
	ReasonComplete            = "Complete"
	ReasonScaling             = "Scaling"
	ReasonWaitingOnPods       = "WaitingForPods"
	ReasonEnough              = "EnoughReplicas"
	ReasonNotEnough           = "NotEnoughReplicas"
	ReasonFailedCreate        = "FailedCreate"
	ReasonFailedDelete        = "FailedDelete"
	ReasonFailedInPlaceUpdate = "FailedInPlaceUpdate"
	ReasonFailedStore         = "FailedStoreRevision"
	ReasonFailedClaim         = "FailedClaim"
	ReasonFailedFinal         = "FailedFinalizer"
	ReasonInvalidPod          = "InvalidPod"
	ReasonForbidden           = "Forbidden"
	ReasonUnreachable         = "FailureThresholdUnreachable"
	ReasonNoEffect            = "FailurePolicyHasNoEffect"
	ReasonStuck               = "PodsStuckTerminating"
	ReasonBackOff             = "FailedPodsBackOff"
	ReasonInternalError       = "InternalError"
	ReasonUndecodable         = "Undecodable"

	// ReasonUpdateOnDelete is Ready's while outdated pods serve, which is all that the strategy OnDelete asks for.
	ReasonUpdateOnDelete = "UpdateOnDelete"
)

// Reasons of the events.
const (
	EventCreated             = "PodCreated"
	EventDeleted             = "PodDeleted"
	EventUpdated             = "PodUpdatedInPlace"
	EventDraining            = "PodDraining"
	EventCollision           = "RevisionCollision"
	EventStarted             = "RolloutStarted"
	EventCompleted           = "RolloutCompleted"
	EventPaused              = "RolloutPaused"
	EventResumed             = "RolloutResumed"
	EventPartition           = "PartitionReached"
	EventHalted              = "RolloutHalted"
	EventRolledBack          = "RolledBack"
	EventDeadline            = "ProgressDeadlineExceeded"
	EventNotInPlace          = "InPlaceImpossible"
	EventSurgeBlocked        = "SurgeBlocked"
	EventLeaving             = "PodLeaving"
	EventReplacementLate     = "ReplacementLate"
	EventReplacementBlocked  = "ReplacementBlocked"
	EventAdopted             = "PodAdopted"
	EventReleased            = "PodReleased"
	EventDisrupted           = "PodDisrupted"
	EventFailedCreate        = "FailedCreate"
	EventFailedDelete        = "FailedDelete"
	EventFailedInPlaceUpdate = "FailedInPlaceUpdate"
	EventFailedStore         = "FailedStoreRevision"
	EventFailedClaim         = "FailedClaim"
	EventFailedStatus        = "FailedUpdateStatus"
	EventFailedFinal         = "FailedFinalizer"
	EventNameTaken           = "PodNameTaken"
	EventInternal            = "InternalError"
	EventUndecodable         = "Undecodable"
	EventForbidden           = "Forbidden"
)
