package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind is the kind of the custom resource.
const Kind = "PodManager"

// GroupVersionKind is Kind with its group and version.
var GroupVersionKind = schema.GroupVersionKind{Group: GroupName, Version: "v1", Kind: Kind}

// ControllerName is the controller's name in events and as a field manager.
const ControllerName = "podmanager-controller"

// The labels, annotations and other names that the controller sets on the objects that it owns, and reads from them.
const (
	// LabelManager holds the PodManager's name. It is the selector.
	LabelManager = "podmanager"
	// LabelManagerUID holds the PodManager's UID. It tells the pods of a PodManager from those of a deleted PodManager of the same name.
	LabelManagerUID = "podmanager-uid"
	// LabelRevision holds the hash of the template that the pod was made from.
	LabelRevision = "apps.mycompany.com/revision"
	// LabelPodIndex holds the number at the end of the pod's name.
	LabelPodIndex = "apps.kubernetes.io/pod-index"
	// LabelShard, on pods and revisions, holds the shard of the PodManager, such as 3-of-16. Without shards it has no meaning.
	LabelShard = "apps.mycompany.com/shard"
	// LabelApp is set to the PodManager's name unless the template has its own.
	LabelApp = "app"

	// AnnotationDelete, with the value "true", marks a pod for deletion: if there are too many pods, it is deleted first, otherwise it
	// is replaced.
	AnnotationDelete = "apps.mycompany.com/delete"
	// AnnotationFailuresBefore holds how many pods failed in a row before this pod was created to replace the last of them.
	AnnotationFailuresBefore = "apps.mycompany.com/failures-before"
	// AnnotationDisruptionsBefore holds how many of these pods were stopped by their node, which says nothing about the template.
	AnnotationDisruptionsBefore = "apps.mycompany.com/disruptions-before"
	// AnnotationReplaces holds the UIDs of the pods that this pod was created to replace, separated by commas.
	AnnotationReplaces = "apps.mycompany.com/replaces"

	// AnnotationInPlace describes, in JSON, the last in-place update of the pod.
	AnnotationInPlace = "apps.mycompany.com/in-place-update"
	// AnnotationRestartedAt, in the template, requests new pods although nothing else differs. It holds the value of spec.restartAt.
	AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"
	// AnnotationChangeCause, on a PodManager, says why its template was changed. It is copied to the revision.
	AnnotationChangeCause = "kubernetes.io/change-cause"
	// AnnotationFailed, on a ControllerRevision, means that the revision has failed: it was rolled back, or is halted for good.
	// AnnotationGood, on a ControllerRevision, holds the time since which the revision has been good, so that a rollback may return to it. If the
	// status is lost, the controller restores it from these annotations.
	AnnotationFailed = "apps.mycompany.com/failed"
	AnnotationGood   = "apps.mycompany.com/good-since"

	// InPlaceReady is the readiness gate with whose condition the controller takes a pod out of its Services while it updates the pod in place.
	InPlaceReady = "apps.mycompany.com/in-place-ready"

	// Finalizer keeps a deleted PodManager until its pods are gone or released.
	Finalizer = "apps.mycompany.com/podmanager"

	// ShorthandContainer is the name of the only container of the short form, spec.image.
	ShorthandContainer = "app"
)

// Condition types.
const (
	// ConditionReady is True when the cluster matches the spec: all pods are available and have the template of the spec, unless the
	// partition or OnDelete keeps an older one, and there is no surplus pod.
	ConditionReady = "Ready"
	// ConditionAvailable is True while at least replicas - maxUnavailable pods are available or, if the update strategy is not RollingUpdate, all
	// replicas.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while the controller is making the cluster match the spec.
	ConditionProgressing = "Progressing"
	// ConditionStalled is present only while it is True: the controller cannot continue until a user acts.
	ConditionStalled = "Stalled"
	// ConditionReplicaFailure is present only while it is True: requests of the controller for its pods or revisions fail.
	ConditionReplicaFailure = "ReplicaFailure"
	// ConditionMisconfigured is present only while it is True: the spec asks for something impossible.
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
	ReasonReadForbidden       = "ReadForbidden"
	ReasonUnreachable         = "FailureThresholdUnreachable"
	ReasonNoEffect            = "FailurePolicyHasNoEffect"
	ReasonGraceNoEffect       = "InPlaceGracePeriodHasNoEffect"
	ReasonStuck               = "PodsStuckTerminating"
	ReasonBackOff             = "FailedPodsBackOff"
	ReasonInternalError       = "InternalError"
	ReasonUndecodable         = "Undecodable"

	// ReasonUpdateOnDelete is the reason of Ready while outdated pods serve until a user deletes them, as the strategy OnDelete wants it.
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
	EventMisconfigured       = "Misconfigured"
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
	EventReadForbidden       = "ReadForbidden"
)
