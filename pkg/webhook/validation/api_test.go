package validation

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

// api is a fake API server that records requests. It needs no network, so that tests can use fake time.
type api struct {
	// answer returns the error for a pod, if any.
	answer func(*http.Request, *corev1.Pod) error
	// remarks are the warnings in the response.
	remarks []string

	mu      sync.Mutex
	queries []string
	pods    []*corev1.Pod
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	pod := &corev1.Pod{}
	if err := json.NewDecoder(r.Body).Decode(pod); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.queries, a.pods = append(a.queries, r.Method+" "+r.URL.RequestURI()), append(a.pods, pod)
	a.mu.Unlock()
	var answered any = pod
	code := http.StatusCreated
	if a.answer != nil {
		if err := a.answer(r, pod); err != nil {
			refused, isStatus := err.(apierrors.APIStatus)
			if !isStatus {
				return nil, err
			}
			status := refused.Status()
			status.Kind, status.APIVersion = "Status", "v1"
			answered, code = status, int(status.Code)
		}
	}
	data, err := json.Marshal(answered)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for _, remark := range a.remarks {
		text, err := net.NewWarningHeader(299, "-", remark)
		if err != nil {
			return nil, err
		}
		header.Add("Warning", text)
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(data)), Request: r}, nil
}

// asked returns the number of pods that were tried.
func (a *api) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pods)
}

func handlerWith(t testing.TB, a *api) *Handler {
	t.Helper()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: a, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	selector, err := labels.Parse("served!=no")
	if err != nil {
		t.Fatal(err)
	}
	return New(kube, Within([]string{"ns"}, selector), inplace.Capabilities{CanResizeAndDrain: true})
}

// post sends a body as the API server does.
func post(handler http.Handler, body string) *httptest.ResponseRecorder {
	return postTo(handler, "/validate?timeout=5s", body)
}

func postTo(handler http.Handler, target, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	handler.ServeHTTP(answer, request)
	return answer
}

// ask sends a review and returns the response.
func ask(t testing.TB, handler http.Handler, body string) *response {
	t.Helper()
	answer := post(handler, body)
	var received review
	if err := json.Unmarshal(answer.Body.Bytes(), &received); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("answered %d %s, %v", answer.Code, answer.Body, err)
	}
	if received.Kind != reviewKind || received.APIVersion != reviewVersion || received.Response == nil || received.Response.UID != "uid-1" {
		t.Fatalf("the response does not belong to the review: %s", answer.Body)
	}
	if received.Request != nil || answer.Header().Get("Content-Type") != "application/json" {
		t.Errorf("the response %s has a request, or is of type %q", answer.Body, answer.Header().Get("Content-Type"))
	}
	return received.Response
}

const (
	short = `{"image":"nginx"}`
	long  = `{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"},{"name":"b","image":"b"}]}}}`
)

// creation returns the review of a new PodManager web. update returns the review of a changed spec or metadata.
func creation(spec string) string {
	return reviewOf("CREATE", "PodManager", "", object("", spec), "null")
}

func update(oldMetadata, oldSpec, metadata, spec string) string {
	return reviewOf("UPDATE", "PodManager", "", object(metadata, spec), object(oldMetadata, oldSpec))
}

func object(metadata, spec string) string {
	return `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web","namespace":"other","uid":"1234"` + metadata + `},"spec":` + spec + `}`
}

func reviewOf(operation, kind, subresource, object, old string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"uid-1","kind":{"group":"apps.mycompany.com","version":"v1","kind":"` +
		kind + `"},"subResource":"` + subresource + `","name":"web","namespace":"ns","operation":"` + operation + `","object":` + object + `,"oldObject":` + old + `}}`
}

// invalidPod returns the error with which the API server refuses an invalid pod.
func invalidPod(causes ...metav1.StatusCause) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: `Pod "web-2147483647" is invalid: ...`,
		Details: &metav1.StatusDetails{Kind: "Pod", Name: "web-2147483647", Causes: causes},
	}}
}
