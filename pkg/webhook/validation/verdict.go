package validation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// maxCauses and maxWarnings limit how many of them are shown: users do not read more at a time.
const maxCauses, maxWarnings = 20, 10

// verdict is the result for a PodManager. The zero value allows it without a warning.
type verdict struct {
	refusal  *metav1.Status
	warnings []string
}

// notTried allows a PodManager whose pod could not be tried.
func notTried(why string) verdict {
	return verdict{warnings: []string{oneLine("could not check whether the API server would accept the PodManager's pods: " + why)}}
}

// tried is a pod that was sent to the API server.
type tried struct {
	manager *v1.PodManager
	pod     *corev1.Pod
}

// warned passes on the API server's warnings about a pod that it accepts.
func (t tried) warned(texts []string) verdict {
	var found verdict
	for _, text := range texts[:min(len(texts), maxWarnings)] {
		if path, words, isField := strings.Cut(text, ": "); isField && isPath(path) {
			text = inManager(t.manager, path) + ": " + words
		}
		found.warnings = append(found.warnings, t.words(text))
	}
	return found
}

// failed interprets an error. A PodManager is refused only if the API server itself finds the pod invalid as it was sent: it will do so again
// next time. All other problems may be temporary and become warnings: a quota, Pod Security, a LimitRange, other webhooks and policies, a missing
// namespace, missing permissions, a busy API server.
//
// That includes 400. The API server returns it for a pod that it cannot decode, which the schema of the CRD excludes, but also for every pod if
// there is a webhook that does not support dry run.
func (t tried) failed(err error) verdict {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		return notTried(t.words(err.Error()))
	}
	status := refused.Status()
	if causes := t.ownCauses(status); len(causes) > 0 {
		return verdict{refusal: t.invalid(causes)}
	}
	switch status.Code {
	case http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return verdict{warnings: []string{t.words("the API server would refuse the PodManager's pods now: " + err.Error())}}
	default:
		return notTried(t.words(err.Error()))
	}
}

// ownCauses returns what the API server finds invalid in the pod as it was sent. Webhooks and policies can also answer Invalid, but then the API
// server puts their names first, so only its own messages have this prefix. Fields that webhooks or LimitRanges have added to the pod are not the
// user's.
func (t tried) ownCauses(status metav1.Status) []metav1.StatusCause {
	if status.Reason != metav1.StatusReasonInvalid || status.Details == nil || !strings.HasPrefix(status.Message, fmt.Sprintf("Pod %q is invalid", t.pod.Name)) {
		return nil
	}
	sent := fieldsOf(t.pod)
	return slices.DeleteFunc(slices.Clone(status.Details.Causes), func(cause metav1.StatusCause) bool {
		return cause.Field == "" || !sent.has(cause.Field) || sent.breaksDefaultLimit(cause)
	})
}

// invalid returns the refusal in the API server's format: kubectl prints the causes of such a status.
func (t tried) invalid(causes []metav1.StatusCause) *metav1.Status {
	more := len(causes) - maxCauses
	var told []metav1.StatusCause
	var lines []string
	for _, cause := range causes[:min(len(causes), maxCauses)] {
		cause.Field, cause.Message = inManager(t.manager, cause.Field), t.words(cause.Message)
		told = append(told, cause)
	}
	if more > 0 {
		told = append(told, metav1.StatusCause{Field: "spec", Message: fmt.Sprintf("further errors, which are not shown: %d", more)})
	}
	for _, cause := range told {
		lines = append(lines, cause.Field+": "+cause.Message)
	}
	text := lines[0]
	if len(lines) > 1 {
		text = "[" + strings.Join(lines, ", ") + "]"
	}
	kind := v1.GroupVersionKind.GroupKind()
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %q is invalid: %s", kind, t.manager.Name, text),
		Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: t.manager.Name, Causes: told},
	}
}

// words returns the API server's text with a pod name that users know.
func (t tried) words(text string) string {
	return oneLine(strings.ReplaceAll(text, t.pod.Name, podstate.PodName(t.manager.Name, 0)))
}

// oneLine makes a text fit into an HTTP header: one line of limited length without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, requeue.ErrorText(errors.New(text)))
}
