package plan

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Failure is why a part of a plan did not work, as the status tells it.
type Failure struct {
	// Condition is the reason of the ReplicaFailure condition, such as ReasonFailedCreate.
	Condition string
	// Reason is what went wrong. It is set only when trying again will not help until somebody acts.
	Reason string
	// Message is in the API server's own words.
	Message string
}

// FailedCreate reads the error of a create.
func FailedCreate(err error) Failure {
	return Failure{Condition: v1.ReasonFailedCreate, Reason: refusal(err), Message: err.Error()}
}

// FailedDelete reads the error of a delete.
func FailedDelete(err error) Failure {
	return Failure{Condition: v1.ReasonFailedDelete, Reason: refusal(err), Message: err.Error()}
}

// FailedChange reads the error of a change in place.
func FailedChange(err error) Failure {
	return Failure{Condition: v1.ReasonFailedChange, Reason: refusal(err), Message: err.Error()}
}

// FailedStore reads the error of storing a revision.
func FailedStore(err error) Failure {
	return Failure{Condition: v1.ReasonFailedStore, Reason: refusal(err), Message: err.Error()}
}

// FailedClaim reads the error of adopting or releasing a pod.
func FailedClaim(err error) Failure {
	return Failure{Condition: v1.ReasonFailedClaim, Reason: refusal(err), Message: err.Error()}
}

// Refused tells whether the API server has judged the request and said no, so that the same request will get the
// same answer until the spec, the quota or a policy changes.
func (f Failure) Refused() bool { return f.Reason != "" }

// refusal is the reason of a refusal; empty for an error that may pass by itself.
func refusal(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return ""
	}
	switch answer.Status().Code {
	case http.StatusForbidden:
		return v1.ReasonForbidden
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return v1.ReasonInvalidPod
	default:
		return ""
	}
}

// NamespaceIsGoing tells whether a create failed because the namespace is being deleted. There is nothing to do then,
// and nobody to tell.
func NamespaceIsGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
