package requeue

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Failure is why a part of a plan failed, as the status reports it.
type Failure struct {
	// Condition is the reason of the ReplicaFailure condition, such as ReasonFailedCreate.
	Condition string
	// Reason is set only for a refused request, which fails again until a user acts. It is ReasonForbidden or ReasonInvalidPod.
	Reason string
	// Message is the error's text, see ErrorText.
	Message string
}

// Failed returns the Failure of a request that returned err. condition is the ReplicaFailure reason for that kind of request.
func Failed(condition string, err error) Failure {
	return Failure{Condition: condition, Reason: refusal(err), Message: ErrorText(err)}
}

// maxErrorText limits the text of an error in bytes. The note of an event may have at most 1024.
const maxErrorText = 800

// ErrorText returns the first line of an error's text, which is safe to show and log. The API server adds to some refusals a dump of the whole pod,
// including the values of environment variables. The dump begins on the second line.
func ErrorText(err error) string {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	return text
}

// Refused reports whether the API server refused the request as invalid or forbidden. It will refuse the same request again until the spec, the
// quota or a policy changes.
func (f Failure) Refused() bool { return f.Reason != "" }

// number is a number in a message, or a quantity: the index of a pod, or how much of a quota is used.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(m|k|[KMGTPE]i?)?`)

// Kind returns the failure without the numbers in its message. The same refusal may name another pod each time, or other amounts.
func (f Failure) Kind() Failure {
	f.Message = number.ReplaceAllString(f.Message, "0")
	return f
}

// exceeded matches the message with which the API server refuses a pod that a ResourceQuota has no room for. No field of the refusal names the quota.
var exceeded = regexp.MustCompile(`exceeded quota: ([^\s,]+),`)

// Quota returns the name of the ResourceQuota that refused the request, or empty if none did.
func (f Failure) Quota() string {
	if found := exceeded.FindStringSubmatch(f.Message); f.Reason == v1.ReasonForbidden && found != nil {
		return found[1]
	}
	return ""
}

// refusal returns the reason of a refused request, or empty for a transient error.
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

// NamespaceIsTerminating reports whether a create failed because the namespace is terminating. The controller then neither retries nor reports the
// failure.
func NamespaceIsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
