package validation

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The fields of admission.k8s.io/v1 that matter here. The package k8s.io/api/admission/v1 would add 70 KB of source, most of it protobuf
// that no webhook speaks.

const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"

	operationCreate = "CREATE"
	operationUpdate = "UPDATE"
)

// review is what the API server sends, with a request, and what it is sent back, with a response.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *request  `json:"request,omitempty"`
	Response        *response `json:"response,omitempty"`
}

type request struct {
	UID         types.UID               `json:"uid"`
	Kind        metav1.GroupVersionKind `json:"kind"`
	SubResource string                  `json:"subResource"`
	Namespace   string                  `json:"namespace"`
	Operation   string                  `json:"operation"`
	Object      json.RawMessage         `json:"object"`
	OldObject   json.RawMessage         `json:"oldObject"`
}

type response struct {
	// UID is that of the request.
	UID     types.UID `json:"uid"`
	Allowed bool      `json:"allowed"`
	// Status is why it is not allowed.
	Status *metav1.Status `json:"status,omitempty"`
	// Warnings are shown by kubectl, whether it is allowed or not.
	Warnings []string `json:"warnings,omitempty"`
}
