package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// PodManager keeps a given number of pods of one image running.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:path=podmanagers,singular=podmanager,shortName=pm,categories=all,scope=Namespaced
// +kubebuilder:deprecatedversion:warning="apps.mycompany.com/v1alpha1 PodManager is deprecated; use apps.mycompany.com/v1, where spec.size is spec.replicas, and spec.command belongs to a container of spec.template"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.v1Status.replicas,selectorpath=.status.v1Status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Pods wanted"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyNodes`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`,description="The image that the pods run"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name may have at most 52 characters, because pod names are made from it; choose a shorter one"
// +kubebuilder:validation:XValidation:rule="self.?status.?v1Spec.hasValue() == oldSelf.?status.?v1Spec.hasValue()",message="status.v1Spec is what version v1 says in spec; leave it as it is, and change spec in apps.mycompany.com/v1"
type PodManager struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +required
	Spec PodManagerSpec `json:"spec"`
	// Status is the state that the controller last observed. Only the controller writes it.
	// +optional
	Status PodManagerStatus `json:"status,omitempty"`
}

// PodManagerSpec is the desired state of a PodManager. When a client changes it, all fields that only v1 has keep their values.
type PodManagerSpec struct {
	// Size is the number of pods to keep running. With 0, all pods are deleted. In v1 it is replicas.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	Size *int32 `json:"size,omitempty"`

	// Image is the image that the pods run. In v1 it is image or, if there is a template, the image of the template's first container.
	// +required
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`

	// Command is the command that the container runs instead of the image's entrypoint. In v1 it is the command of the template's first
	// container.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
}

// PodManagerStatus is the state that the controller last observed.
type PodManagerStatus struct {
	// Nodes are the names of the first 100 active pods, sorted by index. In v1 they are podNames.
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// ReadyNodes is the number of active pods that are ready. In v1 it is readyReplicas.
	// +optional
	ReadyNodes int32 `json:"readyNodes"`

	// V1Spec is the spec in v1, as JSON. It keeps the fields that v1alpha1 does not have when a client changes size, image or command. No
	// client can change it.
	// ---
	// The rule here, and the rule that V1Spec can be neither added nor removed, are for users who may write the status but not the spec. No other
	// user can write V1Spec anyway: when a client writes the spec, the API server takes the status from the stored object.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.v1Spec is what version v1 says in spec; leave it as it is, and change spec in apps.mycompany.com/v1"
	V1Spec string `json:"v1Spec,omitempty"`

	// V1Status is the status in v1.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	V1Status *runtime.RawExtension `json:"v1Status,omitempty"`
}

// PodManagerList is a list of PodManagers.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodManagerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []PodManager `json:"items"`
}
