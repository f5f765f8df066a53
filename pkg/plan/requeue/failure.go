package requeue

import (
	"errors"
	"net/http"
	"strings"

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

// Failed reads the error of a request. The condition is the reason of ReplicaFailure that tells what the request was for.
func Failed(condition string, err error) Failure {
	return Failure{Condition: condition, Reason: refusal(err), Message: Words(err)}
}

// longestWords bounds what is told of an error: an event may have 1024 bytes.
const longestWords = 800

// Words are the words of an error that may be shown and logged. The API server adds a dump of the whole pod, with the values of
// environment variables, to some refusals: it begins with a second line.
func Words(err error) string {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if len(text) > longestWords {
		text = strings.ToValidUTF8(text[:longestWords], "") + "..."
	}
	return text
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
