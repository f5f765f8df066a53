package requeue

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Failure is why a part of a plan failed, as the status reports it.
type Failure struct {
	// Condition is the reason of the ReplicaFailure condition, such as ReasonFailedCreate.
	Condition string
	// Reason is set only for a refused request, which fails again until somebody acts: ReasonForbidden or ReasonInvalidPod.
	Reason string
	// Message is the error's text, see ErrorText.
	Message string
}

// Failed is the Failure of a request that returned err. condition is the ReplicaFailure reason for that kind of request.
func Failed(condition string, err error) Failure {
	return Failure{Condition: condition, Reason: refusal(err), Message: ErrorText(err)}
}

// maxWords limits the text of an error in bytes: the note of an event may have 1024.
const maxWords = 800

// ErrorText is the first line of an error's text, which is safe to show and log. To some refusals the API server adds a dump of the whole
// pod, with the values of environment variables, which begins on the second line.
func ErrorText(err error) string {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	return text
}

// Refused tells whether the API server refused the request as invalid or forbidden: it refuses the same request again until the
// spec, the quota or a policy changes.
func (f Failure) Refused() bool { return f.Reason != "" }

// refusal is the reason of a refused request; empty for a transient error.
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

// NamespaceIsTerminating tells whether a create failed because the namespace is terminating. The controller then neither retries nor
// reports the failure.
func NamespaceIsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
