package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind is the kind of the custom resource.
const Kind = "PodManager"

// GroupVersionKind is the same with its group and version.
var GroupVersionKind = schema.GroupVersionKind{Group: GroupName, Version: "v1", Kind: Kind}

// ControllerName is how the controller calls itself in events and field managers.
const ControllerName = "podmanager-controller"

// What the controller puts on the objects that it owns, and looks for on them.
const (
	// LabelManager holds the PodManager's name. It is the selector.
	LabelManager = "podmanager"
	// LabelManagerUID holds the PodManager's UID, so that pods of a dead namesake can be told apart.
	LabelManagerUID = "podmanager-uid"
	// LabelRevision holds the hash of the template that the pod was made from.
	LabelRevision = "apps.mycompany.com/revision"
	// LabelPodIndex holds the number at the end of the pod's name.
	LabelPodIndex = "apps.kubernetes.io/pod-index"
	// LabelShard, on pods and revisions, holds the shard of the PodManager, such as 3-of-16. Without shards it means nothing.
	LabelShard = "apps.mycompany.com/shard"
	// LabelApp is set to the PodManager's name unless the template has its own.
	LabelApp = "app"

	// AnnotationDelete, with the value "true", asks for a pod to be taken away first when there are too many, and to be
	// replaced when there are not.
	AnnotationDelete = "apps.mycompany.com/delete"
	// AnnotationFailuresBefore is how many pods have failed one after the other before this one was made in their place.
	AnnotationFailuresBefore = "apps.mycompany.com/failures-before"
	// AnnotationDisruptionsBefore is how many of them were stopped by their node, which says nothing about the template.
	AnnotationDisruptionsBefore = "apps.mycompany.com/disruptions-before"

	// AnnotationInPlace tells, as JSON, of the last change that was made to a pod in place.
	AnnotationInPlace = "apps.mycompany.com/in-place-update"
	// AnnotationRestartedAt, in the template, asks for new pods although nothing else differs. It is where spec.restartAt goes.
	AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"
	// AnnotationChangeCause, on a PodManager, says why its template was changed. It is copied to the revision.
	AnnotationChangeCause = "kubernetes.io/change-cause"
	// AnnotationFailed, on a ControllerRevision, means that the revision has failed: it was rolled back, or is halted for good.
	// AnnotationGood is since when it has been a revision to return to. The status says the same; if that is lost, the controller goes by these.
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
	// ConditionReady is True when the spec as it stands now has been carried out: every pod wanted is made from the
	// present template, or left as it is by the partition or OnDelete, and available, and none is left over.
	ConditionReady = "Ready"
	// ConditionAvailable is True while as many pods are available as a rolling update would leave at the least.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while the controller is on its way to the spec.
	ConditionProgressing = "Progressing"
	// ConditionStalled exists, and is then True, only when the controller will not get further until a user acts.
	ConditionStalled = "Stalled"
	// ConditionReplicaFailure exists, and is then True, only while creating or deleting pods fails.
	ConditionReplicaFailure = "ReplicaFailure"
	// ConditionMisconfigured exists, and is then True, only while the spec asks for something that cannot come about.
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
)
