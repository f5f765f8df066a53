package requeue

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestFailedCreate(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	tests := map[string]struct {
		err  error
		want string
	}{
		"invalid":          {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-0", nil), v1.ReasonInvalidPod},
		"bad request":      {apierrors.NewBadRequest("cannot decode"), v1.ReasonInvalidPod},
		"quota or policy":  {apierrors.NewForbidden(pods, "web-0", errors.New("exceeded quota")), v1.ReasonForbidden},
		"too many":         {apierrors.NewTooManyRequests("slow down", 1), ""},
		"server error":     {apierrors.NewInternalError(errors.New("etcd")), ""},
		"unreachable":      {&net.OpError{Op: "dial", Err: errors.New("refused")}, ""},
		"namespace absent": {apierrors.NewNotFound(pods, "ns"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Failed(v1.ReasonFailedCreate, fmt.Errorf("creating pod web-0: %w", test.err))
			if got.Reason != test.want || got.Refused() != (test.want != "") || got.Condition != v1.ReasonFailedCreate {
				t.Errorf("got %+v, want reason %q", got, test.want)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	const words = "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"
	tests := map[string]struct {
		err  error
		want string
	}{
		"a quota":            {apierrors.NewForbidden(pods, "web-3", errors.New(words)), "small"},
		"another refusal":    {apierrors.NewForbidden(pods, "web-3", errors.New("violates PodSecurity")), ""},
		"a transient error":  {apierrors.NewInternalError(errors.New(words)), ""},
		"without the amount": {apierrors.NewForbidden(pods, "web-3", errors.New("exceeded quota: small")), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Failed(v1.ReasonFailedCreate, fmt.Errorf("creating pod web-3: %w", test.err)).Quota(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The same refusal of another pod, or with other amounts, is of the same kind. Another refusal is not.
func TestKind(t *testing.T) {
	failure := func(message string) Failure {
		return Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden, Message: message}
	}
	const quota = `creating pod web-3: pods "web-3" is forbidden: exceeded quota: small, requested: cpu=500m, used: cpu=1500m,memory=1Gi, limited: cpu=2`
	tests := map[string]struct {
		other Failure
		want  bool
	}{
		"the same":             {failure(quota), true},
		"another pod":          {failure(strings.ReplaceAll(quota, "web-3", "web-17")), true},
		"more of it is used":   {failure(strings.Replace(quota, "cpu=1500m,memory=1Gi", "cpu=2,memory=1536Mi", 1)), true},
		"another quota":        {failure(strings.Replace(quota, "small", "tiny", 1)), false},
		"another cause":        {failure("creating pod web-3: violates PodSecurity"), false},
		"another kind of call": {Failure{Condition: v1.ReasonFailedDelete, Reason: v1.ReasonForbidden, Message: quota}, false},
		"not refused":          {Failure{Condition: v1.ReasonFailedCreate, Message: quota}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failure(quota).Kind() == test.other.Kind(); got != test.want {
				t.Errorf("of the same kind: %v; %+v", got, test.other.Kind())
			}
		})
	}
}

func TestNamespaceIsGoing(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-0", errors.New("it is being terminated"))
	if NamespaceIsTerminating(forbidden) {
		t.Error("a plain refusal is taken for a terminating namespace")
	}
	forbidden.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	if !NamespaceIsTerminating(fmt.Errorf("creating: %w", forbidden)) {
		t.Error("a terminating namespace is not recognised")
	}
}

// The error text for users and logs contains no dump of a pod with its environment variables, and fits into an event.
func TestWords(t *testing.T) {
	refused := errors.New("changing pod web-0: Pod \"web-0\" is invalid: spec: Forbidden: pod updates may not change fields\n  core.PodSpec{Env: {PASSWORD: \"secret\"}}")
	if got := ErrorText(refused); strings.Contains(got, "secret") || !strings.HasSuffix(got, "may not change fields") {
		t.Errorf("got %q", got)
	}
	if got := ErrorText(errors.New(strings.Repeat("ä", 2000))); len(got) > maxErrorText+3 || !utf8.ValidString(got) {
		t.Errorf("the text has %d bytes", len(got))
	}
}
