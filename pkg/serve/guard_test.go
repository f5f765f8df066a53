package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// reviewer is a fake API server: the token of NAME is "token-NAME", and prometheus may get /metrics.
type reviewer struct {
	client *kubefake.Clientset
	asked  int
	// down is a resource whose requests fail. revoked is a token that is no longer valid.
	down, revoked string
}

func newReviewer() *reviewer {
	r := &reviewer{client: kubefake.NewClientset()}
	r.client.PrependReactor("create", "tokenreviews", r.answer(func(object runtime.Object) {
		review := object.(*authenticationv1.TokenReview)
		name, valid := strings.CutPrefix(review.Spec.Token, "token-")
		review.Status.Authenticated = valid && review.Spec.Token != r.revoked
		review.Status.User = authenticationv1.UserInfo{Username: name, UID: "uid", Groups: []string{"scrapers"}, Extra: map[string]authenticationv1.ExtraValue{"a": {"b"}}}
	}))
	r.client.PrependReactor("create", "subjectaccessreviews", r.answer(func(object runtime.Object) {
		review := object.(*authorizationv1.SubjectAccessReview)
		spec := review.Spec
		review.Status.Allowed = spec.User == "prometheus" && spec.UID == "uid" && fmt.Sprint(spec.Groups, spec.Extra) == "[scrapers] map[a:[b]]" &&
			spec.NonResourceAttributes.Verb == "get" && spec.NonResourceAttributes.Path == MetricsPath
	}))
	return r
}

func (r *reviewer) answer(fill func(runtime.Object)) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		if r.asked++; r.down == action.GetResource().Resource {
			return true, nil, errors.New("the API server is away")
		}
		object := action.(clienttesting.CreateAction).GetObject().DeepCopyObject()
		fill(object)
		return true, object, nil
	}
}

// get returns the response to a request with this Authorization header. served reports whether the request reached the protected handler.
func get(guard *Guard, method, path, authorization string) (answer *httptest.ResponseRecorder, served bool) {
	answer = httptest.NewRecorder()
	request := httptest.NewRequest(method, path, nil)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	guard.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })).ServeHTTP(answer, request)
	return answer, served
}

func TestGuard(t *testing.T) {
	tests := map[string]struct {
		method, path, authorization, down string
		code                              int
		text                              string
		asked                             int
	}{
		"no token":                       {code: 401, text: "a bearer token is needed"},
		"an empty token":                 {authorization: "Bearer ", code: 401},
		"a password":                     {authorization: "Basic token-prometheus", code: 401},
		"a token that is not valid":      {authorization: "Bearer nonsense", code: 401, text: "not valid", asked: 1},
		"no right":                       {authorization: "Bearer token-eve", code: 403, text: "eve may not get /metrics: bind a ClusterRole with this right to the user, such as podmanager-metrics-reader", asked: 2},
		"the right to another path":      {authorization: "Bearer token-prometheus", path: ObjectMetricsPath, code: 403, asked: 2},
		"the right to another verb":      {authorization: "Bearer token-prometheus", method: "POST", code: 403, asked: 2},
		"the right":                      {authorization: "Bearer token-prometheus", code: 200, asked: 2},
		"the right, in small letters":    {authorization: "bearer token-prometheus", code: 200, asked: 2},
		"the review of the token fails":  {authorization: "Bearer token-prometheus", down: "tokenreviews", code: 503, asked: 1},
		"the review of the rights fails": {authorization: "Bearer token-prometheus", down: "subjectaccessreviews", code: 503, asked: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reviewer := newReviewer()
			reviewer.down = test.down
			method, path := test.method, test.path
			if method == "" {
				method = "GET"
			}
			if path == "" {
				path = MetricsPath
			}
			answer, served := get(NewGuard(reviewer.client), method, path, test.authorization)
			if answer.Code != test.code || served != (test.code == 200) || !strings.Contains(answer.Body.String(), test.text) || reviewer.asked != test.asked {
				t.Errorf("got %d %q after %d reviews, served %t; want %d %q after %d", answer.Code, answer.Body, reviewer.asked, served, test.code, test.text, test.asked)
			}
			if challenge := answer.Header().Get("WWW-Authenticate"); (challenge == "Bearer") != (test.code == 401) {
				t.Errorf("WWW-Authenticate is %q with code %d", challenge, answer.Code)
			}
		})
	}
}

// The API server is asked only once in a while, not for each scrape. If it did not answer, it is asked again with the next request.
func TestGuardRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reviewer := newReviewer()
		guard := NewGuard(reviewer.client)
		expect := func(when, token string, code, asked int) {
			t.Helper()
			before := reviewer.asked
			if answer, _ := get(guard, "GET", MetricsPath, "Bearer "+token); answer.Code != code || reviewer.asked-before != asked {
				t.Errorf("%s: got %d after %d reviews, want %d after %d", when, answer.Code, reviewer.asked-before, code, asked)
			}
		}
		reviewer.down = "tokenreviews"
		expect("API server away", "token-prometheus", 503, 1)
		expect("still away", "token-prometheus", 503, 1)
		reviewer.down = ""
		expect("first", "token-prometheus", 200, 2)
		expect("again", "token-prometheus", 200, 0)
		expect("another token", "token-eve", 403, 2)
		expect("another token again", "token-eve", 403, 0)
		reviewer.revoked = "token-prometheus"
		time.Sleep(allowedFor / 2)
		expect("revoked just now", "token-prometheus", 200, 0)
		time.Sleep(allowedFor / 2)
		expect("refused a while ago", "token-eve", 403, 2)
		expect("revoked a while ago", "token-prometheus", 401, 1)
		reviewer.down = "tokenreviews"
		time.Sleep(allowedFor)
		expect("API server away, and the answer is old", "token-prometheus", 503, 1)
	})
}

// Many clients send requests at the same time.
func TestGuardInParallel(t *testing.T) {
	reviewer := newReviewer()
	guard := NewGuard(reviewer.client)
	get(guard, "GET", MetricsPath, "Bearer token-prometheus")
	var allowed atomic.Int32
	server := httptest.NewServer(guard.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { allowed.Add(1) })))
	done := make(chan error)
	for range 20 {
		go func() {
			request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+MetricsPath, nil)
			if err == nil {
				request.Header.Set("Authorization", "Bearer token-prometheus")
				var response *http.Response
				if response, err = server.Client().Do(request); err == nil {
					err = response.Body.Close()
				}
			}
			done <- err
		}()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if server.Close(); allowed.Load() != 20 {
		t.Errorf("%d of 20 requests were let through", allowed.Load())
	}
}
