package executor

import (
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
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// answers is the transport of a fake API server: its answers by method and the last element of the path.
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

// An API server without pods/resize answers NotFound, as it does for a missing pod. The first is a refusal, after which the pod may be
// replaced; the second is no failure.
func TestResizeIsNotServed(t *testing.T) {
	const (
		pod     = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","uid":"u","resourceVersion":"7"}}`
		other   = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","uid":"other"}}`
		noPage  = "404 page not found\n"
		noPod   = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"web-0\" not found","reason":"NotFound","details":{"name":"web-0","kind":"pods"},"code":404}`
		refused = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`
		changed = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the object has been modified","reason":"Conflict","code":409}`
		broken  = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"InternalError","code":500}`
	)
	tests := map[string]struct {
		answers answers
		step    inplace.Step
		// gone wants neither a pod nor an error.
		gone, refused, failed bool
	}{
		"resized":                         {answers: answers{"PATCH resize": {200, pod}}},
		"no such subresource":             {answers: answers{"PATCH resize": {404, noPage}, "GET web-0": {200, pod}}, refused: true},
		"no such subresource, by a proxy": {answers: answers{"PATCH resize": {404, noPod}, "GET web-0": {200, pod}}, refused: true},
		"no such pod":                     {answers: answers{"PATCH resize": {404, noPod}, "GET web-0": {404, noPod}}, gone: true},
		"another pod of that name":        {answers: answers{"PATCH resize": {404, noPage}, "GET web-0": {200, other}}, gone: true},
		"a conflict is no refusal":        {answers: answers{"PATCH resize": {409, changed}, "GET web-0": {200, pod}}, gone: true},
		"the live read fails":             {answers: answers{"PATCH resize": {404, noPage}, "GET web-0": {500, broken}}, failed: true},
		"refused":                         {answers: answers{"PATCH resize": {403, refused}}, refused: true},
		"nothing to restore":              {answers: answers{"PATCH resize": {404, noPage}, "GET web-0": {200, pod}}, step: inplace.StepRestore},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: test.answers})
			if err != nil {
				t.Fatal(err)
			}
			e := New(Deps{Clients: source.Clients{Kube: kube}, Clock: clock.RealClock{}, Tracker: consistency.NewTracker()}, NewLanes())
			update := inplace.Update{Step: test.step, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "u"}}}
			r := e.resizePod(ctx, cache.NewObjectName("ns", "web"), update, []byte("{}"), nil)
			isRefused := r.Err != nil && requeue.Failed(v1.ReasonFailedInPlaceUpdate, r.Err).Refused()
			if isRefused != test.refused || (r.Err != nil && !isRefused) != test.failed || (r.Err == nil && r.Pod == nil) != test.gone {
				t.Errorf("pod %v, error %v, refused %v", r.Pod != nil, r.Err, isRefused)
			}
		})
	}
}
