package conversion

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// review is a ConversionReview of apiextensions.k8s.io/v1, whose package is a megabyte with all that it imports.
type review struct {
	metav1.TypeMeta `json:",inline"`

	Request  *request  `json:"request,omitempty"`
	Response *response `json:"response,omitempty"`
}

const (
	reviewVersion = "apiextensions.k8s.io/v1"
	reviewKind    = "ConversionReview"
)

type request struct {
	UID               types.UID         `json:"uid"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

type response struct {
	UID types.UID `json:"uid"`
	// ConvertedObjects has all objects in the order of the request, or none.
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
	Result           metav1.Status     `json:"result"`
}
