package executor

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// answers is the transport of a fake API server. It has a response for each method and last path element.
type answers map[string]struct {
	code int
	body string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := a[r.Method+" "+r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
	kind := "application/json"
	if !strings.HasPrefix(answer.body, "{") {
		kind = "text/plain"
	}
	return &http.Response{
		StatusCode: answer.code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(answer.body)), Request: r,
	}, nil
}

// An API server without pods/resize returns NotFound, just as it does for a missing pod. Without pods/resize, NotFound is a refusal, after which the
// pod may be replaced. If the pod is missing, the next patch finds that, see TestChangedMeanwhile.
func TestResizeIsNotServed(t *testing.T) {
	const (
		pod      = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","uid":"u","resourceVersion":"7"}}`
		noPage   = "404 page not found\n"
		noPod    = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"web-0\" not found","reason":"NotFound","details":{"name":"web-0","kind":"pods"},"code":404}`
		refused  = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`
		conflict = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the object has been modified","reason":"Conflict","code":409}`
		broken   = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"InternalError","code":500}`
	)
	tests := map[string]struct {
		answers answers
		step    inplace.Step
		// changed expects a ChangedError.
		changed, refused, failed bool
	}{
		"resized":                         {answers: answers{"PATCH resize": {200, pod}}},
		"no such subresource":             {answers: answers{"PATCH resize": {404, noPage}}, refused: true},
		"no such subresource, by a proxy": {answers: answers{"PATCH resize": {404, noPod}}, refused: true},
		"a conflict is no refusal":        {answers: answers{"PATCH resize": {409, conflict}}, changed: true},
		"the API server is broken":        {answers: answers{"PATCH resize": {500, broken}}, failed: true},
		"refused":                         {answers: answers{"PATCH resize": {403, refused}}, refused: true},
		"nothing to restore":              {answers: answers{"PATCH resize": {404, noPage}}, step: inplace.StepRestore},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: test.answers})
			if err != nil {
				t.Fatal(err)
			}
			e := New(reconcile.Deps{Clients: source.Clients{Kube: kube}, Clock: clock.RealClock{}, States: syncstate.New()})
			update := inplace.Update{Step: test.step, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "u"}}}
			r := e.resizePod(ctx, cache.NewObjectName("ns", "web"), update, []byte("{}"), nil)
			isRefused, hasChanged := r.Err != nil && requeue.Failed(v1.ReasonFailedInPlaceUpdate, r.Err).Refused(), isChanged(r.Err)
			if isRefused != test.refused || hasChanged != test.changed || (r.Err != nil && !isRefused && !hasChanged) != test.failed || (r.Pod == nil) != (r.Err != nil) {
				t.Errorf("got a pod: %v, error %v, which is a refusal: %v, or says that the pod has changed: %v",
					r.Pod != nil, r.Err, isRefused, hasChanged)
			}
		})
	}
}

// inTurn is the transport of a fake API server that returns its responses in turn, and records the requests.
type inTurn struct {
	codes []int
	pod   string
	sent  []string
}

func (s *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	code, answer := s.codes[len(s.sent)], s.pod
	if code != http.StatusOK {
		answer = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":%d,"reason":%q}`, code,
			map[int]string{403: "Forbidden", 404: "NotFound", 409: "Conflict"}[code])
	}
	s.sent = append(s.sent, string(body))
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// Whichever request of an update finds that the pod has changed or is gone, its result is an error, and the plan is abandoned.
func TestChangedMeanwhile(t *testing.T) {
	one, two := TemplateWith(), TemplateWith(Needs(Amounts("cpu", "2", "")))
	for name, test := range map[string]struct {
		step  inplace.Step
		codes []int
	}{
		"the gate":                             {step: inplace.StepDrain, codes: []int{409}},
		"the pod is gone":                      {step: inplace.StepDrain, codes: []int{404}},
		"the begin":                            {step: inplace.StepUpdate, codes: []int{409}},
		"the resize":                           {step: inplace.StepUpdate, codes: []int{200, 409}},
		"the pod is gone by then":              {step: inplace.StepUpdate, codes: []int{200, 404, 404}},
		"after the resize":                     {step: inplace.StepUpdate, codes: []int{200, 200, 409}},
		"it is gone after":                     {step: inplace.StepUpdate, codes: []int{200, 200, 404}},
		"the resize is refused":                {step: inplace.StepUpdate, codes: []int{200, 403, 409}},
		"the last patch is refused":            {step: inplace.StepUpdate, codes: []int{200, 200, 403, 404}},
		"the pod's own resources are restored": {step: inplace.StepRestore, codes: []int{409}},
		"it is gone before it is restored":     {step: inplace.StepRestore, codes: []int{404, 404}},
	} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			server := &inTurn{codes: test.codes, pod: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","uid":"u","resourceVersion":"7"}}`}
			kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: server})
			if err != nil {
				t.Fatal(err)
			}
			e := New(reconcile.Deps{Clients: source.Clients{Kube: kube}, Clock: clock.RealClock{}, States: syncstate.New()})
			pod := Pod(0)
			pod.Spec = *one.Spec.DeepCopy()
			update := inplace.Update{Step: test.step, Pod: pod, From: RevisionWith("one", one), To: RevisionWith("two", two)}
			if test.step == inplace.StepRestore {
				Annotated(v1.AnnotationInPlace, `{"revision":"three","begun":true}`)(pod)
				update.From = update.To
			}
			done := &reconcile.Outcome{Manager: Manager(1), Updated: map[inplace.Step][]*corev1.Pod{}}
			e.applyUpdates(ctx, cache.NewObjectName("ns", "web"), []inplace.Update{update}, done)
			if len(server.sent) != len(test.codes) || !done.Outdated || !isChanged(done.Err) || len(done.Updated) > 0 {
				t.Errorf("%d requests, outdated %v, again %v, error %v, updated %v; want an outdated plan and a ChangedError",
					len(server.sent), done.Outdated, done.Again, done.Err, done.Updated)
			}
		})
	}
}
