package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodManager keeps a given number of pods of one template running, and reports their state.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:path=podmanagers,singular=podmanager,shortName=pm,categories=all,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Pods wanted"
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="Pods that are neither terminating nor finished"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,description="Pods made from the template in the spec"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Pods that have been ready for minReadySeconds"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why the PodManager is ready, or why not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`,description="The images of the template in the spec"
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.updateRevision`,description="The revision of the template in the spec"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="The reason in words; it names the pod that is furthest from ready"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name may have at most 52 characters, because pod names are made from it; choose a shorter one"
// +kubebuilder:validation:XValidation:rule="self.spec.?template.?metadata.?labels[?'podmanager'].orValue(self.metadata.name) == self.metadata.name",message="the template's label podmanager must be the PodManager's own name; leave it out and it is set for you"
type PodManager struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +required
	Spec PodManagerSpec `json:"spec"`
	// Status is the state that the controller last observed. Only the controller writes it.
	// +optional
	// +kubebuilder:default={}
	Status PodManagerStatus `json:"status,omitempty"`
}

// PodManagerSpec is the desired state of a PodManager.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.template)",message="set exactly one of spec.image (short form: one container named app) and spec.template (a whole pod template)"
// +kubebuilder:validation:XValidation:rule="self.?minReadySeconds.orValue(0) < self.?progressDeadlineSeconds.orValue(600)",message="minReadySeconds must be below progressDeadlineSeconds: no pod could become available before the deadline"
// +kubebuilder:validation:XValidation:rule="self.?failurePolicy.?gracePeriodSeconds.orValue(30) < self.?progressDeadlineSeconds.orValue(600)",message="failurePolicy.gracePeriodSeconds (30 unless set) must be below progressDeadlineSeconds: the deadline would pass before a failing pod has had time to recover"
type PodManagerSpec struct {
	// Replicas is the number of pods to keep running. With 0, all pods are deleted.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Image is the short form of template: each pod runs one container, named "app", with this image. Set either image or template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image,omitempty"`

	// Template is the complete template of the pods. Set either image or template. Its restartPolicy must be Always, and it must
	// not have activeDeadlineSeconds: use a Job for pods that run to completion.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec.template.spec.containers needs at least one container"
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// RestartAt, when it changes, restarts all pods: a rollout replaces them, as for a changed template. The restart begins at
	// once, even if the time is in the future. The time must differ from the previous one by at least a second. RestartAt is part of the revision, and pods have it as the annotation kubectl.kubernetes.io/restartedAt. With
	// podUpdatePolicy InPlaceOnly, pods cannot be restarted this way.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.getFullYear() >= 1970",message="restartAt must be a time such as 2026-11-15T12:00:00Z"
	RestartAt *metav1.Time `json:"restartAt,omitempty"`

	// MinReadySeconds is how long a pod has to be ready before it counts as available. A rollout updates the next pods only when
	// enough new pods are available. With 0, the next pods may already be updated when a pod crashes a second after it
	// became ready. Set it to the time within which a bad version of your program usually fails; use 10 or more in production.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// UpdateStrategy determines how the pods are updated when the template changes.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`

	// FailurePolicy determines what happens when pods of a new template fail.
	// +optional
	// +kubebuilder:default={}
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// Paused stops rollouts. The controller still scales, and replaces lost pods. A PodManager that is paused when it is created has
	// no pods until paused becomes false, unless pods are handed over to it.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// ProgressDeadlineSeconds is how long a rollout may take until another updated pod becomes available. After that, the rollout
	// counts as stalled. The clock runs only while there are updated pods that are not available. It stops while the rollout is
	// paused or halted.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// RevisionHistoryLimit is the number of old revisions to keep after their last pod is gone.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// ScaleDown limits how fast pods are deleted when replicas is lowered or the PodManager is deleted.
	// +optional
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`

	// PodReplacementPolicy determines when a terminating pod is replaced: at once (TerminationStarted), or only when it is gone
	// (TerminationComplete). Use TerminationComplete if a pod and its replacement must not run at the same time.
	// +optional
	// +kubebuilder:default=TerminationStarted
	PodReplacementPolicy PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`

	// FailedPodsHistoryLimit is the number of failed pods to keep for inspection. The newest ones are kept.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	FailedPodsHistoryLimit *int32 `json:"failedPodsHistoryLimit,omitempty"`

	// Disruption determines when a pod is replaced before it is gone: when its node is drained or lost, or when the pod is too old.
	// +optional
	Disruption *Disruption `json:"disruption,omitempty"`
}

// Disruption determines when a pod is replaced before it is gone. The replacement is created first, except if a pod is too old and
// the update strategy allows no surge. The replacement has the revision that a rollout allows at that moment.
type Disruption struct {
	// OnDrain determines what happens to pods whose node is cordoned, is tainted by Cluster Autoscaler or Karpenter, or has the
	// condition DrainInProgress or MaintenancePlanned. Ignore, the default, does nothing. Replace creates a replacement for each
	// pod, and leaves the eviction to the program that drains the node. It needs a PodDisruptionBudget, which makes the eviction
	// wait until the replacement is ready: without one, pods are evicted at once. With the update strategy Recreate, or with
	// TerminationComplete, pods are not replaced early, because a pod and its replacement must not run at the same time.
	// +optional
	OnDrain DrainPolicy `json:"onDrain,omitempty"`

	// NodeLoss determines what happens to pods on a node that no longer reports to the control plane.
	// +optional
	NodeLoss *NodeLoss `json:"nodeLoss,omitempty"`

	// MaxPodAgeSeconds is the age at which a pod is replaced. A pod may be replaced up to 10 % earlier, so that pods of the
	// same age do not go together. Pods are replaced one at a time, the oldest first, and not during a rollout or a pause.
	// +optional
	// +kubebuilder:validation:Minimum=600
	MaxPodAgeSeconds *int32 `json:"maxPodAgeSeconds,omitempty"`
}

// NodeLoss determines what happens to pods on a node whose condition Ready is Unknown.
type NodeLoss struct {
	// ReplaceAfterSeconds is how long a node has to be lost before its pods no longer count and get replacements. By default, pods
	// are replaced when the node controller evicts them, after five minutes. Nothing happens while more than half of the nodes of
	// the cluster, or of a zone with more than two nodes, are not ready: the control plane is then more likely to blame than the
	// nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReplaceAfterSeconds *int32 `json:"replaceAfterSeconds,omitempty"`

	// ForceDeleteAfterSeconds is how long a pod on a lost node may be terminating before the controller deletes it without waiting
	// for the kubelet. If the node is still alive, the old pod may then run at the same time as its replacement. By default, the
	// controller never does this.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ForceDeleteAfterSeconds *int32 `json:"forceDeleteAfterSeconds,omitempty"`
}

// DrainPolicy determines what happens to pods whose node is being drained.
// +kubebuilder:validation:Enum=Ignore;Replace
type DrainPolicy string

// The drain policies.
const (
	IgnoreDrain  DrainPolicy = "Ignore"
	ReplaceDrain DrainPolicy = "Replace"
)

// UpdateStrategy determines how the pods are updated when the template changes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.type) || self.type == 'RollingUpdate'",message="updateStrategy.rollingUpdate is only for updateStrategy.type RollingUpdate; remove it, or change the type"
type UpdateStrategy struct {
	// Type is RollingUpdate (a few pods are updated at a time), Recreate (all old pods are gone before the first new one is created)
	// or OnDelete (when a user deletes a pod, its replacement has the new template).
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate has the limits of a rolling update.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// UpdateStrategyType is the type of an update strategy.
// +kubebuilder:validation:Enum=RollingUpdate;Recreate;OnDelete
type UpdateStrategyType string

// The update strategies.
const (
	RollingUpdateStrategy UpdateStrategyType = "RollingUpdate"
	RecreateStrategy      UpdateStrategyType = "Recreate"
	OnDeleteStrategy      UpdateStrategyType = "OnDelete"
)

// RollingUpdate has the limits of a rolling update.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || !has(self.maxUnavailable) || !(string(self.maxSurge) in ['0', '0%'] && string(self.maxUnavailable) in ['0', '0%'])",message="maxSurge and maxUnavailable must not both be 0: no pod could ever be replaced"
type RollingUpdate struct {
	// MaxSurge is how many pods there may be in addition to replicas: a number, or a percentage of replicas, rounded up.
	// +optional
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^(0|[1-9][0-9]{0,3})%$')",message="maxSurge must be a number of at least 0 or a percentage from 0% to 9999%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// MaxUnavailable is how many of the replicas the update may make unavailable: a number, or a percentage of replicas, rounded
	// down. If both maxUnavailable and maxSurge round to 0, maxUnavailable is 1.
	// +optional
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxUnavailable must be a number of at least 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Partition is how many pods are not updated, whatever their revision: a number, or a percentage of replicas, rounded down. With
	// a percentage below 100%, at least one pod is updated. Lowering the partition updates more pods. Raising it returns pods to
	// their old revision.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="partition must be a number of at least 0 or a percentage from 0% to 100%"
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// PodUpdatePolicy determines how a pod is updated. Recreate replaces it. InPlaceIfPossible updates it in place if only images,
	// labels, annotations, CPU or memory differ, and otherwise replaces it. InPlaceOnly updates it in place or not at all: if that
	// is impossible, the rollout is stalled.
	// +optional
	// +kubebuilder:default=Recreate
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`

	// InPlaceGracePeriodSeconds is how long a pod is taken out of its Services before its containers are updated in place. While it
	// is above 0, new pods get the readiness gate apps.mycompany.com/in-place-ready, which makes this possible.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InPlaceGracePeriodSeconds int32 `json:"inPlaceGracePeriodSeconds,omitempty"`
}

// PodUpdatePolicy determines whether pods are replaced or updated in place.
// +kubebuilder:validation:Enum=Recreate;InPlaceIfPossible;InPlaceOnly
type PodUpdatePolicy string

// The pod update policies.
const (
	RecreatePods      PodUpdatePolicy = "Recreate"
	InPlaceIfPossible PodUpdatePolicy = "InPlaceIfPossible"
	InPlaceOnly       PodUpdatePolicy = "InPlaceOnly"
)

// FailurePolicy determines what happens when pods of a new template fail: they crash, their image cannot be pulled, their
// configuration is missing, or they end in the phase Failed.
type FailurePolicy struct {
	// OnFailure is Continue (failing pods do not stop the rollout), Halt (no further pod is updated until the failing pods recover)
	// or Rollback (as Halt, and if the failing pods do not recover in time, all pods return to the last good revision; the spec is
	// not changed).
	// +optional
	// +kubebuilder:default=Halt
	OnFailure FailureAction `json:"onFailure,omitempty"`

	// FailureThreshold is how many pods have to fail before onFailure takes effect: a number, or a percentage of replicas, rounded
	// down but never below 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 2147483647 : self.matches('^([1-9][0-9]?|100)%$')",message="failurePolicy.failureThreshold must be a number of at least 1 or a percentage from 1% to 100%"
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`

	// GracePeriodSeconds is how long a failing pod has to become ready again, counted from its own first failure. It has recovered
	// once it has been available for gracePeriodSeconds. If it fails after that, the failure counts as a new one.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// BakeSeconds is how long enough pods of a new revision (all except maxUnavailable) have to be available at the same time before
	// the revision counts as good. A rollback returns to the last good revision. Once a revision is good, the failure policy no
	// longer applies to it. The default is gracePeriodSeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BakeSeconds *int32 `json:"bakeSeconds,omitempty"`
}

// FailureAction determines what happens when pods of a new template fail.
// +kubebuilder:validation:Enum=Continue;Halt;Rollback
type FailureAction string

// The failure actions.
const (
	ContinueOnFailure FailureAction = "Continue"
	HaltOnFailure     FailureAction = "Halt"
	RollbackOnFailure FailureAction = "Rollback"
)

// ScaleDown limits how fast pods are deleted.
type ScaleDown struct {
	// MaxTerminating is how many pods may be terminating at the same time: a number, or a percentage of the pods that exist at that
	// moment, rounded up. It is never below 1.
	// +optional
	// +kubebuilder:default="100%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 2147483647 : self.matches('^([1-9][0-9]?|100)%$')",message="scaleDown.maxTerminating must be a number of at least 1 or a percentage from 1% to 100%"
	MaxTerminating *intstr.IntOrString `json:"maxTerminating,omitempty"`
}

// PodReplacementPolicy determines when a terminating pod is replaced.
// +kubebuilder:validation:Enum=TerminationStarted;TerminationComplete
type PodReplacementPolicy string

// The replacement policies.
const (
	TerminationStarted  PodReplacementPolicy = "TerminationStarted"
	TerminationComplete PodReplacementPolicy = "TerminationComplete"
)

// PodManagerList is a list of PodManagers.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodManagerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []PodManager `json:"items"`
}
