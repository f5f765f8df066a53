package conversion

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// review is a ConversionReview of apiextensions.k8s.io/v1. That package would add a megabyte with its imports.
type review struct {
	metav1.TypeMeta `json:",inline"`

	Request  *request  `json:"request,omitempty"`
	Response *response `json:"response,omitempty"`
}

const (
	reviewVersion = "apiextensions.k8s.io/v1"
	reviewKind    = "ConversionReview"
	// maxUID limits the length of the request's uid, which is sent back. API servers use 36 characters.
	maxUID = 100
)

type request struct {
	UID               types.UID         `json:"uid"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

type response struct {
	UID    types.UID     `json:"uid"`
	Result metav1.Status `json:"result"`
	// ConvertedObjects has all objects in the order of the request, or none. It is the last field in the JSON of the review, so that the objects
	// can be written one by one before the end.
	ConvertedObjects []json.RawMessage `json:"convertedObjects"`
}
