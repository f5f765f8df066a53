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

// maxCauses and maxWarnings are how many of them are told: nobody reads more at a time.
const maxCauses, maxWarnings = 20, 10

// verdict is what is found about a PodManager. The zero value allows it, and has nothing to say.
type verdict struct {
	refusal  *metav1.Status
	warnings []string
}

// notTried allows what could not be tried.
func notTried(why string) verdict {
	return verdict{warnings: []string{oneLine("this pod was not tried: " + why)}}
}

// tried is a pod that the API server was asked to take.
type tried struct {
	manager *v1.PodManager
	pod     *corev1.Pod
}

// warned passes on what the API server remarks about a pod that it takes.
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

// failed tells what an error means. Only what the API server itself finds invalid in the pod as it was sent is refused: it will find the
// same next time. All else may be otherwise in a minute, and is a warning: a quota, Pod Security, a LimitRange, other people's
// webhooks and policies, a namespace, rights that are missing, an API server that is busy.
//
// That includes 400. The API server gives it for a pod that it cannot decode, which the schema of the CRD does not let through, but also
// for every pod if there is a webhook that cannot stand dry runs.
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
		return verdict{warnings: []string{t.words("the API server would refuse this pod now: " + err.Error())}}
	default:
		return notTried(t.words(err.Error()))
	}
}

// ownCauses are what the API server finds invalid in the pod as it was sent. Webhooks and policies can answer Invalid, too, but only the
// API server's own answer begins like this: it puts their names before what they say. What they and the LimitRanges have added to the pod is
// not the user's.
func (t tried) ownCauses(status metav1.Status) []metav1.StatusCause {
	if status.Reason != metav1.StatusReasonInvalid || status.Details == nil || !strings.HasPrefix(status.Message, fmt.Sprintf("Pod %q is invalid", t.pod.Name)) {
		return nil
	}
	sent := fieldsOf(t.pod)
	return slices.DeleteFunc(slices.Clone(status.Details.Causes), func(cause metav1.StatusCause) bool {
		return cause.Field == "" || !sent.has(cause.Field) || sent.breaksDefaultLimit(cause)
	})
}

// invalid is the refusal, as the API server itself words one: kubectl prints the causes of such a status.
func (t tried) invalid(causes []metav1.StatusCause) *metav1.Status {
	more := len(causes) - maxCauses
	var told []metav1.StatusCause
	var lines []string
	for _, cause := range causes[:min(len(causes), maxCauses)] {
		cause.Field, cause.Message = inManager(t.manager, cause.Field), t.words(cause.Message)
		told = append(told, cause)
	}
	if more > 0 {
		told = append(told, metav1.StatusCause{Field: "spec", Message: fmt.Sprintf("%d more errors are not shown", more)})
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

// words are those of the API server, with the name of a pod that users know.
func (t tried) words(text string) string {
	return oneLine(strings.ReplaceAll(text, t.pod.Name, podstate.PodName(t.manager.Name, 0)))
}

// oneLine makes a text fit into a header of HTTP: one line without control characters, of a bounded length.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, requeue.ErrorText(errors.New(text)))
}
