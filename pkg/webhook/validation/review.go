package validation

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The fields of admission.k8s.io/v1 that are used here. The package k8s.io/api/admission/v1 would add 70 KB of source, most of it protobuf that
// webhooks do not use.

const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"

	operationCreate = "CREATE"
	operationUpdate = "UPDATE"
)

// review has a request when the API server sends it, and a response when it is sent back.
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
	// UID is the uid of the request.
	UID     types.UID `json:"uid"`
	Allowed bool      `json:"allowed"`
	// Status is the reason for a refusal.
	Status *metav1.Status `json:"status,omitempty"`
	// Warnings are shown by kubectl, whether the request is allowed or not.
	Warnings []string `json:"warnings,omitempty"`
}
