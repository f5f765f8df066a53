package validation

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Only a change of the pod is tried.
func TestWhatIsTried(t *testing.T) {
	tests := map[string]struct {
		review string
		tried  bool
	}{
		"a new PodManager":                     {creation(short), true},
		"another image":                        {update("", short, "", `{"image":"nginx:2"}`), true},
		"another template":                     {update("", long, "", strings.Replace(long, `"b"}]`, `"c"}]`, 1)), true},
		"a template instead of an image":       {update("", short, "", long), true},
		"a restart":                            {update("", short, "", `{"image":"nginx","restartAt":"2026-11-15T12:00:00Z"}`), true},
		"a readiness gate":                     {update("", short, "", `{"image":"nginx","updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceGracePeriodSeconds":1}}}`), true},
		"an old object that cannot be read":    {update("", `{"image":5}`, "", short), true},
		"the same as a template":               {update("", short, "", `{"template":{"spec":{"containers":[{"name":"app","image":"nginx"}]}}}`), false},
		"nothing":                              {update("", long, "", long), false},
		"the same quantity in other words":     {update("", limited("1"), "", limited("1000m")), false},
		"a scale":                              {update("", short, "", `{"image":"nginx","replicas":5}`), false},
		"a pause":                              {update("", short, "", `{"image":"nginx","paused":true}`), false},
		"a finalizer":                          {update(`,"finalizers":["a"]`, short, "", short), false},
		"a label of the PodManager":            {update("", short, `,"labels":{"a":"b"}`, short), false},
		"a change while it is being deleted":   {update("", short, `,"deletionTimestamp":"2026-11-15T12:00:00Z"`, long), false},
		"a PodManager of another controller":   {update("", short, `,"labels":{"served":"no"}`, long), false},
		"a PodManager of another namespace":    {strings.Replace(creation(short), `"namespace":"ns"`, `"namespace":"elsewhere"`, 1), false},
		"a deletion":                           {reviewOf("DELETE", "PodManager", "", "null", object("", short)), false},
		"a connection":                         {reviewOf("CONNECT", "PodManager", "", object("", short), "null"), false},
		"a status":                             {reviewOf("UPDATE", "PodManager", "status", object("", long), object("", short)), false},
		"the scale subresource":                {reviewOf("UPDATE", "Scale", "scale", `{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`), false},
		"another kind":                         {reviewOf("CREATE", "Pod", "", `{"spec":"nonsense"}`, "null"), false},
		"another version":                      {strings.Replace(creation(short), `"version":"v1"`, `"version":"v1alpha1"`, 1), false},
		"another group":                        {strings.Replace(creation(short), `"group":"apps.mycompany.com"`, `"group":"apps"`, 1), false},
		"a status that would take long to use": {reviewOf("UPDATE", "PodManager", "", strings.Replace(object("", short), `"spec"`, `"status":{"collisionCount":2147483647},"spec"`, 1), object("", short)), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := &api{}
			answer := ask(t, handlerWith(t, server), test.review)
			if !answer.Allowed || answer.Status != nil || len(answer.Warnings) > 0 {
				t.Errorf("answered %+v", answer)
			}
			if tried := server.asked() > 0; tried != test.tried {
				t.Errorf("a pod was tried: %t, want %t", tried, test.tried)
			}
		})
	}
}

func TestWithinAllNamespaces(t *testing.T) {
	if served := Within([]string{metav1.NamespaceAll}, labels.Everything()); !served(&v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}) {
		t.Error("a namespace is not served, although all are")
	}
}

func limited(cpu string) string {
	return `{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"` + cpu + `"}}}]}}}`
}

// The pod that is tried is like a real one, is sent with the controller's options, and is not persisted.
func TestTrial(t *testing.T) {
	server := &api{}
	ask(t, handlerWith(t, server), creation(long))
	const query = "POST /api/v1/namespaces/ns/pods?dryRun=All&fieldManager=podmanager-controller&fieldValidation=Ignore"
	if len(server.queries) != 1 || server.queries[0] != query {
		t.Fatalf("asked %q, want %s", server.queries, query)
	}
	pod := server.pods[0]
	if pod.Name != "web-2147483647" || pod.Namespace != "ns" || len(pod.OwnerReferences) > 0 || len(pod.Spec.Containers) != 2 {
		t.Errorf("the pod is %+v", pod)
	}
	for label, want := range map[string]string{"a": "b", "app": "web", "podmanager": "web", "podmanager-uid": "1234", "apps.kubernetes.io/pod-index": "2147483647"} {
		if pod.Labels[label] != want {
			t.Errorf("the label %s is %q, want %q", label, pod.Labels[label], want)
		}
	}
	if pod.Labels["apps.mycompany.com/revision"] == "" {
		t.Errorf("the pod has no revision label: %v", pod.Labels)
	}
}

// The pod that is tried has the readiness gate if the real ones do. A controller that cannot drain pods does not set it.
func TestTrialOfGate(t *testing.T) {
	const drained = `{"image":"nginx","updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceGracePeriodSeconds":1}}}`
	for capable, want := range map[bool]int{true: 1, false: 0} {
		server := &api{}
		handler := handlerWith(t, server)
		handler.capabilities.CanResizeAndDrain = capable
		ask(t, handler, creation(drained))
		if gates := server.pods[0].Spec.ReadinessGates; len(gates) != want {
			t.Errorf("can drain: %t; the readiness gates are %v, want %d", capable, gates, want)
		}
		ask(t, handler, update("", short, "", drained))
		if tried := server.asked() > 1; tried != capable {
			t.Errorf("can drain: %t; a change of the grace period, which changes pods only if they have a gate, is tried: %t", capable, tried)
		}
	}
}

// A PodManager that the controller cannot read is allowed with a warning: an older controller must not refuse what a newer CRD has accepted.
func TestUnreadable(t *testing.T) {
	server := &api{}
	answer := ask(t, handlerWith(t, server), creation(`{"image":5}`))
	if !answer.Allowed || len(answer.Warnings) != 1 || !strings.HasPrefix(answer.Warnings[0], "could not check whether the API server would accept the PodManager's pods: the controller cannot read the PodManager: json: ") || server.asked() > 0 {
		t.Errorf("answered %+v after %d trials", answer, server.asked())
	}
}

// A repeated review gets the same response.
func TestReplay(t *testing.T) {
	server := &api{answer: func(*http.Request, *corev1.Pod) error {
		return invalidPod(metav1.StatusCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.containers[1].name", Message: `Duplicate value: "a"`})
	}}
	handler := handlerWith(t, server)
	first, second := post(handler, creation(long)), post(handler, creation(long))
	if first.Code != http.StatusOK || first.Body.String() != second.Body.String() || !strings.Contains(first.Body.String(), `"allowed":false`) {
		t.Errorf("answered\n%s\nand then\n%s", first.Body, second.Body)
	}
}

// Garbage is answered with a short and clear error, and does not reach the API server.
func TestGarbage(t *testing.T) {
	good, endless := creation(short), strings.Repeat("<", 1<<20)
	tests := map[string]struct{ body, want string }{
		"nothing":          {"", "malformed JSON at byte 0"},
		"no JSON":          {"<html>", "invalid character"},
		"half of a review": {good[:len(good)/2], "malformed JSON at byte"},
		"a list":           {"[]", "cannot unmarshal array"},
		"another kind":     {strings.Replace(good, "AdmissionReview", "ConversionReview", 1), `this is "ConversionReview" of "admission.k8s.io/v1", not an AdmissionReview`},
		"another version":  {strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v2", 1), `of "admission.k8s.io/v2"`},
		"no request":       {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, "no request with a uid"},
		"no uid":           {strings.Replace(good, "uid-1", "", 1), "no request with a uid"},
		"a long uid":       {strings.Replace(good, "uid-1", endless, 1), "more than 253 characters"},
		"a long namespace": {strings.Replace(good, `"namespace":"ns"`, `"namespace":"`+endless+`"`, 1), "more than 253 characters"},
		"a long kind":      {strings.Replace(good, "AdmissionReview", endless, 1), `this is "<<<`},
		"a long field":     {strings.Replace(good, `"uid-1"`, `"","`+endless+`":`+strings.Repeat("[", 200), 1), "request.<<<"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := &api{}
			answer := post(handlerWith(t, server), test.body)
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), test.want) || answer.Body.Len() > 300 || server.asked() > 0 {
				t.Errorf("answered %d %.300s, want 400 %s; %d trials", answer.Code, answer.Body, test.want, server.asked())
			}
		})
	}
}

// A name that no API server accepts is not tried: it would appear in the response and in the log.
func TestLongName(t *testing.T) {
	server := &api{}
	answer := post(handlerWith(t, server), strings.Replace(creation(short), `"name":"web","namespace":"other"`, `"name":"`+strings.Repeat("a", 1<<20)+`"`, 1))
	if text := answer.Body.String(); !strings.Contains(text, "its name has more than 253 characters") || len(text) > 1000 || server.asked() > 0 {
		t.Errorf("answered %.1000s; %d trials", text, server.asked())
	}
}

// The log entry for a request that is not checked is short, however long the request is.
func TestLogsLittle(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(9)))
	endless := strings.Repeat("<", 1<<20)
	request := httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(reviewOf(endless, endless, endless, "{}", "{}")))
	request.Header.Set("Content-Type", "application/json")
	handlerWith(t, &api{}).ServeHTTP(httptest.NewRecorder(), request.WithContext(klog.NewContext(t.Context(), logger)))
	if text := logger.GetSink().(ktesting.Underlier).GetBuffer().String(); !strings.Contains(text, "Allowed a request without a dry run") || len(text) > 1000 {
		t.Errorf("the log has %d bytes: %.1000s", len(text), text)
	}
}

// Whatever the body is, the handler answers, and allows what it does not understand.
func FuzzReview(f *testing.F) {
	for _, seed := range []string{creation(short), creation(long), update("", short, "", long), reviewOf("UPDATE", "Scale", "scale", "{}", "{}"), "", "[]", `{"request":null}`} {
		f.Add(seed)
	}
	server := &api{answer: func(_ *http.Request, pod *corev1.Pod) error {
		if len(pod.Spec.Containers) == 0 {
			return errors.New("away")
		}
		return nil
	}}
	handler := handlerWith(f, server)
	f.Fuzz(func(t *testing.T, body string) {
		answer := post(handler, body)
		if answer.Code/100 == 4 {
			return
		}
		var received review
		if err := json.Unmarshal(answer.Body.Bytes(), &received); err != nil || received.Response == nil || !received.Response.Allowed {
			t.Errorf("answered %d %s", answer.Code, answer.Body)
		}
		server.pods, server.queries = nil, nil
	})
}
