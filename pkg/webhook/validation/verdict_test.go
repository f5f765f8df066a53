package validation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func cause(field, message string) metav1.StatusCause {
	return metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: message}
}

// answered returns the response to a new PodManager if the API server returns this error for its pod.
func answered(t *testing.T, spec string, err error) *response {
	t.Helper()
	return ask(t, handlerWith(t, &api{answer: func(*http.Request, *corev1.Pod) error { return err }}), creation(spec))
}

// An invalid pod is refused with the API server's message and the field of the PodManager.
func TestInvalidIsRefused(t *testing.T) {
	const requests = "spec.containers[0].resources.requests"
	resources := func(text string) string {
		return `{"template":{"spec":{"containers":[{"name":"a","resources":` + text + `}]}}}`
	}
	tests := map[string]struct {
		spec  string
		cause metav1.StatusCause
		want  string
	}{
		"a container":            {long, cause("spec.containers[1].name", `Duplicate value: "a"`), `spec.template.spec.containers[1].name: Duplicate value: "a"`},
		"a missing field":        {long, cause("spec.containers[0].image", "Required value"), "spec.template.spec.containers[0].image: Required value"},
		"a label":                {long, cause("metadata.labels", `Invalid value: "?"`), `spec.template.metadata.labels: Invalid value: "?"`},
		"an annotation":          {long, cause("metadata.annotations", "Too long"), "spec.template.metadata.annotations: Too long"},
		"a key":                  {long, cause("spec.nodeSelector[a.b/c[0]", "no"), "spec.template.spec.nodeSelector[a.b/c[0]: no"},
		"the name":               {long, cause("metadata.name", `Invalid value: "web-2147483647": must be no more than 63 characters`), `metadata.name: Invalid value: "web-0": must be no more than 63 characters`},
		"the image":              {short, cause("spec.containers[0].image", `Invalid value: " a"`), `spec.image: Invalid value: " a"`},
		"all that an image has":  {short, cause("spec", "no"), "spec.image: no"},
		"its name":               {short, cause("metadata.name", "no"), "metadata.name: no"},
		"its labels":             {short, cause("metadata.labels", "no"), "metadata.name: no"},
		"its annotations":        {short, cause("metadata.annotations", "no"), "spec.restartAt: no"},
		"a limit below":          {resources(`{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}`), cause(requests, `Invalid value: "2": must be less than or equal to cpu limit of 1`), "spec.template." + requests + `: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		"a limit that differs":   {resources(`{"requests":{"a.b/gpu":"1"},"limits":{"a.b/gpu":"2"}}`), cause(requests, `must be equal to a.b/gpu limit of 2`), "spec.template." + requests + `: must be equal to a.b/gpu limit of 2`},
		"a negative request":     {resources(`{"requests":{"cpu":"-2"}}`), cause(requests, "must be greater than or equal to 0"), "spec.template." + requests + ": must be greater than or equal to 0"},
		"two lines and a return": {long, cause("spec", "one\r\ntwo"), "spec.template.spec: one "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := answered(t, test.spec, invalidPod(test.cause))
			if answer.Allowed || answer.Status == nil || len(answer.Warnings) > 0 {
				t.Fatalf("answered %+v", answer)
			}
			status := answer.Status
			if status.Message != `PodManager.apps.mycompany.com "web" is invalid: `+test.want || status.Code != 422 || status.Reason != metav1.StatusReasonInvalid || status.Status != metav1.StatusFailure {
				t.Errorf("refused as %+v, want %s", status, test.want)
			}
			if details := status.Details; details.Kind != "PodManager" || details.Group != "apps.mycompany.com" || details.Name != "web" || len(details.Causes) != 1 ||
				details.Causes[0].Field+": "+details.Causes[0].Message != test.want || details.Causes[0].Type != test.cause.Type {
				t.Errorf("the details are %+v, want %s", details, test.want)
			}
		})
	}
}

// All invalid fields are reported, up to a limit.
func TestManyCauses(t *testing.T) {
	var causes []metav1.StatusCause
	for i := range 2 {
		causes = append(causes, cause(fmt.Sprintf("spec.containers[%d].name", i), "no"))
	}
	answer := answered(t, long, invalidPod(causes...))
	if want := "[spec.template.spec.containers[0].name: no, spec.template.spec.containers[1].name: no]"; !strings.HasSuffix(answer.Status.Message, want) {
		t.Errorf("refused as %s, want %s", answer.Status.Message, want)
	}
	answer = answered(t, long, invalidPod(slices.Repeat([]metav1.StatusCause{cause("spec", strings.Repeat("ä", 10_000))}, 100)...))
	told := answer.Status.Details.Causes
	if len(told) != 21 || told[20].Message != "further errors, which are not shown: 80" || len(answer.Status.Message) > 21*1000 || !utf8.ValidString(answer.Status.Message) {
		t.Errorf("the refusal has %d causes in %d bytes, the last one is %+v", len(told), len(answer.Status.Message), told[len(told)-1])
	}
}

// If the problem may be temporary, the PodManager is allowed with a warning.
func TestMomentIsWarned(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	const now, not = "the API server would refuse the PodManager's pods now: ", "could not check whether the API server would accept the PodManager's pods: "
	named := func(prefix string) *apierrors.StatusError {
		status := invalidPod(cause("spec.containers[0].name", "no"))
		status.ErrStatus.Message = prefix + `Pod "web-2147483647" is invalid`
		return status
	}
	policy := apierrors.NewForbidden(pods, "web-2147483647", errors.New("ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no"))
	policy.ErrStatus.Code, policy.ErrStatus.Reason = 422, metav1.StatusReasonInvalid
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "no"}}
	tests := map[string]struct {
		err  error
		want string
	}{
		"a quota":        {apierrors.NewForbidden(pods, "web-2147483647", errors.New("exceeded quota: few")), now + `pods "web-0" is forbidden: exceeded quota: few`},
		"no right":       {apierrors.NewForbidden(pods, "", errors.New(`User "system:serviceaccount:a:b" cannot create resource`)), now + `pods is forbidden: User "system:serviceaccount:a:b" cannot create resource`},
		"a policy":       {policy, now + `pods "web-0" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no`},
		"a webhook":      {named(`admission webhook "a.b.c" denied the request: `), now + `admission webhook "a.b.c" denied the request: Pod "web-0" is invalid`},
		"a sidecar":      {invalidPod(cause("spec.containers[2].name", "no"), cause("spec.initContainers[0].name", "no")), now + `Pod "web-0" is invalid: ...`},
		"a LimitRange":   {invalidPod(cause("spec.containers[0].resources.requests", "must be less than or equal to cpu limit of 1")), ""},
		"no namespace":   {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"), now + `namespaces "ns" not found`},
		"no causes":      {invalidPod(), now + `Pod "web-0" is invalid: ...`},
		"no dry run":     {apierrors.NewBadRequest(`admission webhook "a.b.c" does not support dry run`), not + `admission webhook "a.b.c" does not support dry run`},
		"a name in use":  {apierrors.NewAlreadyExists(pods, "web-2147483647"), not + `pods "web-0" already exists`},
		"too many":       {apierrors.NewTooManyRequests("slow down", 1), not + "slow down"},
		"a server error": {apierrors.NewInternalError(errors.New("etcd")), not + "Internal error occurred: etcd"},
		"no token":       {apierrors.NewUnauthorized("who are you"), not + "who are you"},
		"unreachable":    {errors.New("connection refused"), not + "connection refused"},
		"two lines":      {apierrors.NewForbidden(pods, "web-2147483647", errors.New("no\nPASSWORD=1")), now + `pods "web-0" is forbidden: no`},
		"a tab":          {apierrors.NewForbidden(pods, "web-2147483647", errors.New("a\tb")), now + `pods "web-0" is forbidden: a b`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := answered(t, resourcesOfBoth, test.err)
			if !answer.Allowed || answer.Status != nil || len(answer.Warnings) != 1 || (test.want != "" && answer.Warnings[0] != test.want) {
				t.Errorf("answered %+v, status %v, want %q", answer, answer.Status, test.want)
			}
		})
	}
	long := answered(t, short, apierrors.NewForbidden(pods, "web-2147483647", errors.New(strings.Repeat("ä", 10_000))))
	if len(long.Warnings) != 1 || len(long.Warnings[0]) > 1000 || !utf8.ValidString(long.Warnings[0]) {
		t.Errorf("the warnings are %q", long.Warnings)
	}
}

// resourcesOfBoth has two containers. The first has a request and no limit, which a LimitRange could add.
const resourcesOfBoth = `{"template":{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"2"}}},{"name":"b"}]}}}`

// A mistake of the user is refused, whatever other clients have done to the pod.
func TestOwnAndOthersCauses(t *testing.T) {
	answer := answered(t, long, invalidPod(cause("spec.containers[7].name", "others"), cause("spec.containers[0].name", "own")))
	if answer.Allowed || len(answer.Status.Details.Causes) != 1 || answer.Status.Details.Causes[0].Field != "spec.template.spec.containers[0].name" {
		t.Errorf("answered %+v, status %+v", answer, answer.Status)
	}
}

// The API server's warnings about a pod that it accepts are passed on.
func TestRemarks(t *testing.T) {
	server := &api{remarks: []string{`spec.containers[0].env[1]: hides previous definition of "A"`, `would violate PodSecurity "restricted:latest": web-2147483647`}}
	want := []string{`spec.template.spec.containers[0].env[1]: hides previous definition of "A"`, `would violate PodSecurity "restricted:latest": web-0`}
	if answer := ask(t, handlerWith(t, server), creation(long)); !answer.Allowed || !slices.Equal(answer.Warnings, want) {
		t.Errorf("warned of %q, want %q", answer.Warnings, want)
	}
	server.remarks = slices.Repeat([]string{"a"}, 50)
	if answer := ask(t, handlerWith(t, server), creation(long)); len(answer.Warnings) != maxWarnings {
		t.Errorf("%d warnings are passed on, want %d", len(answer.Warnings), maxWarnings)
	}
}
