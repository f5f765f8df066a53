package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodManager keeps a number of pods of one template running and reports their state.
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
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready, or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.status.image`,description="The images of the template in the spec"
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.updateRevision`,description="The revision of the template in the spec"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="The reason in words, with the pod that is furthest from ready"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name may have at most 52 characters, because pod names are made from it; choose a shorter one"
// +kubebuilder:validation:XValidation:rule="self.spec.?template.?metadata.?labels[?'podmanager'].orValue(self.metadata.name) == self.metadata.name",message="the template's label podmanager must be the PodManager's own name; leave it out and it is set for you"
type PodManager struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +required
	Spec PodManagerSpec `json:"spec"`
	// Status is what was last observed. It is written by the controller only.
	// +optional
	// +kubebuilder:default={}
	Status PodManagerStatus `json:"status,omitempty"`
}

// PodManagerSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.template)",message="set exactly one of spec.image (short form: one container named app) and spec.template (a whole pod template)"
// +kubebuilder:validation:XValidation:rule="self.?minReadySeconds.orValue(0) < self.?progressDeadlineSeconds.orValue(600)",message="minReadySeconds must be below progressDeadlineSeconds: no pod could become available before the deadline"
// +kubebuilder:validation:XValidation:rule="self.?failurePolicy.?gracePeriodSeconds.orValue(30) < self.?progressDeadlineSeconds.orValue(600)",message="failurePolicy.gracePeriodSeconds (30 unless set) must be below progressDeadlineSeconds: the deadline would pass before a failing pod has had its time to recover"
type PodManagerSpec struct {
	// Replicas is how many pods to keep running. 0 stops them all.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Image is the short form of template: each pod runs one container, named "app", of this image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image,omitempty"`

	// Template is the complete template of the pods. Set either image or template. Its restartPolicy can only be Always: use a
	// Job for pods that run to completion.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec.template.spec.containers needs at least one container"
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// RestartAt replaces all pods when it changes, as a changed template does. Its value does not matter, only that it differs by
	// at least a second: the restart begins at once, even if the time is in the future. It is part of the revision, and pods have
	// it as the annotation kubectl.kubernetes.io/restartedAt.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.getFullYear() >= 1970",message="restartAt must be a time such as 2026-11-15T12:00:00Z"
	RestartAt *metav1.Time `json:"restartAt,omitempty"`

	// MinReadySeconds is how long a pod has to be ready before it counts as available. A rollout updates the next pods only when
	// enough new pods are available. With 0, a pod that crashes a second after it was ready does not stop the rollout. Set it to
	// the time after which your program has usually failed if it is going to; use 10 or more in production.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// UpdateStrategy is how a changed template reaches the pods.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`

	// FailurePolicy is what happens when pods of a new template fail.
	// +optional
	// +kubebuilder:default={}
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// Paused stops rollouts. The controller still scales, and replaces lost pods.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// ProgressDeadlineSeconds is the longest time from one updated pod becoming available to the next. After that the rollout
	// counts as stalled. The clock runs only while updated pods exist that are not available. It stops while the rollout is
	// paused or halted.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// RevisionHistoryLimit is how many old revisions are kept after their last pod is gone.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// ScaleDown limits how fast pods are deleted when replicas is lowered or the PodManager is deleted.
	// +optional
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`

	// PodReplacementPolicy is when a terminating pod is replaced: at once (TerminationStarted), or only when it
	// is gone (TerminationComplete), for pods that must not run beside their replacement.
	// +optional
	// +kubebuilder:default=TerminationStarted
	PodReplacementPolicy PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`

	// FailedPodsHistoryLimit is how many failed pods are kept for inspection. The newest ones are kept.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	FailedPodsHistoryLimit *int32 `json:"failedPodsHistoryLimit,omitempty"`

	// Disruption is when a pod is replaced before it is gone: when its node is drained or lost, or when the pod is old.
	// +optional
	Disruption *Disruption `json:"disruption,omitempty"`
}

// Disruption is when a pod is replaced before it is gone. The replacement is created first, but for the age of a pod without a
// surge, with the revision that a rollout allows at that moment.
type Disruption struct {
	// OnDrain is what happens to pods whose node is cordoned, tainted by Cluster Autoscaler or Karpenter, or has the condition
	// DrainInProgress or MaintenancePlanned. Replace creates a replacement, and leaves the eviction to whatever drains the node. It
	// needs a PodDisruptionBudget: with one, the eviction waits until the replacement is ready, without one it comes at once.
	// Ignore does nothing. Pods that must not run beside their replacement, with Recreate or TerminationComplete, are not replaced.
	// +optional
	OnDrain DrainPolicy `json:"onDrain,omitempty"`

	// NodeLoss is what happens to pods on a node that no longer reports to the control plane.
	// +optional
	NodeLoss *NodeLoss `json:"nodeLoss,omitempty"`

	// MaxPodAgeSeconds is the age at which a pod is replaced, up to 10 % earlier so that not all are replaced together. The
	// oldest pod goes first, one after the other, and not during a rollout or a pause.
	// +optional
	// +kubebuilder:validation:Minimum=600
	MaxPodAgeSeconds *int32 `json:"maxPodAgeSeconds,omitempty"`
}

// NodeLoss is what happens to pods on a node whose condition Ready is Unknown.
type NodeLoss struct {
	// ReplaceAfterSeconds is how long a node has to be lost before its pods no longer count and get replacements. By default
	// they are replaced when the node controller evicts them, after five minutes. While more than half of the nodes of the
	// cluster, or of a zone with more than two nodes, are not ready, nothing happens: the control plane is then more likely
	// to blame than the nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReplaceAfterSeconds *int32 `json:"replaceAfterSeconds,omitempty"`

	// ForceDeleteAfterSeconds is how long a pod on a lost node may be terminating before it is deleted without waiting for its
	// kubelet. If the node is still alive, two pods may then run, the old one beside its replacement. By default that never
	// happens.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ForceDeleteAfterSeconds *int32 `json:"forceDeleteAfterSeconds,omitempty"`
}

// DrainPolicy is what happens to pods whose node is being drained.
// +kubebuilder:validation:Enum=Ignore;Replace
type DrainPolicy string

// The drain policies.
const (
	IgnoreDrain  DrainPolicy = "Ignore"
	ReplaceDrain DrainPolicy = "Replace"
)

// UpdateStrategy is how a changed template reaches the pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.type) || self.type == 'RollingUpdate'",message="updateStrategy.rollingUpdate is only for updateStrategy.type RollingUpdate; remove it, or change the type"
type UpdateStrategy struct {
	// Type is RollingUpdate (a few pods at a time), Recreate (all old pods are gone before the first new one is created) or
	// OnDelete (a pod gets the new template when a user deletes it).
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate has the limits of a rolling update.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// UpdateStrategyType names a strategy.
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
	// MaxSurge is how many pods there may be above replicas: a number, or a percentage of replicas, rounded up.
	// +optional
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^(0|[1-9][0-9]{0,3})%$')",message="maxSurge must be a number of at least 0 or a percentage from 0% to 9999%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// MaxUnavailable is how many of the replicas may be unavailable because of the update: a number, or a percentage of
	// replicas, rounded down. If both it and maxSurge are rounded to 0, it is 1.
	// +optional
	// +kubebuilder:default="25%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="maxUnavailable must be a number of at least 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Partition is how many pods are not updated, whatever their revision: a number, or a percentage of replicas, rounded down,
	// so that below 100% at least one pod is updated. Lowering it updates more pods, raising it returns pods to their old
	// revision.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="partition must be a number of at least 0 or a percentage from 0% to 100%"
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// PodUpdatePolicy is whether pods are replaced (Recreate), or updated in place where only images, labels,
	// annotations, CPU or memory differ, and replaced otherwise (InPlaceIfPossible) or not at all (InPlaceOnly).
	// +optional
	// +kubebuilder:default=Recreate
	PodUpdatePolicy PodUpdatePolicy `json:"podUpdatePolicy,omitempty"`

	// InPlaceGracePeriodSeconds is how long a pod is kept out of its Services before its containers are changed. Pods
	// made while it is above 0 get the readiness gate apps.mycompany.com/in-place-ready, which makes that possible.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InPlaceGracePeriodSeconds int32 `json:"inPlaceGracePeriodSeconds,omitempty"`
}

// PodUpdatePolicy is whether pods are replaced or updated in place.
// +kubebuilder:validation:Enum=Recreate;InPlaceIfPossible;InPlaceOnly
type PodUpdatePolicy string

// The pod update policies.
const (
	RecreatePods      PodUpdatePolicy = "Recreate"
	InPlaceIfPossible PodUpdatePolicy = "InPlaceIfPossible"
	InPlaceOnly       PodUpdatePolicy = "InPlaceOnly"
)

// FailurePolicy is what happens when pods of a new template fail: they crash, their image cannot be pulled, their
// configuration is missing, or they end in the phase Failed.
type FailurePolicy struct {
	// OnFailure is Continue (failing pods do not matter), Halt (no further pod is updated until they recover) or Rollback
	// (if they do not recover in time, all pods return to the last good revision; the spec is not changed).
	// +optional
	// +kubebuilder:default=Halt
	OnFailure FailureAction `json:"onFailure,omitempty"`

	// FailureThreshold is how many pods have to fail before onFailure takes effect: a number, or a percentage of replicas,
	// rounded down, but never below 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 2147483647 : self.matches('^([1-9][0-9]?|100)%$')",message="failurePolicy.failureThreshold must be a number of at least 1 or a percentage from 1% to 100%"
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`

	// GracePeriodSeconds is how long a pod has to recover, counted from its own first failure. It has recovered when it has been
	// available for the same time. A later failure counts as a new one.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// BakeSeconds is how long enough pods of a revision, all but maxUnavailable, have to be available together until the revision
	// is good. A rollback returns to the last good revision, and this policy no longer applies to a good one. The default is
	// gracePeriodSeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BakeSeconds *int32 `json:"bakeSeconds,omitempty"`
}

// FailureAction is what happens when pods of a new template fail.
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
	// MaxTerminating is how many pods may be terminating at the same time: a number, or a percentage of the pods that exist at
	// that moment, rounded up. It is never below 1.
	// +optional
	// +kubebuilder:default="100%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 2147483647 : self.matches('^([1-9][0-9]?|100)%$')",message="scaleDown.maxTerminating must be a number of at least 1 or a percentage from 1% to 100%"
	MaxTerminating *intstr.IntOrString `json:"maxTerminating,omitempty"`
}

// PodReplacementPolicy is when a terminating pod is replaced.
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
