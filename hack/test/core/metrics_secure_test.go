//go:build e2e

package core

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/serve"
)

// scraper is a client that reads metrics over TLS, with or without a token.
type scraper struct {
	*space
	client *http.Client
}

func newScraper(s *space) *scraper {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the certificate is self-signed
	s.T.Cleanup(transport.CloseIdleConnections)
	return &scraper{s, &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// token creates a ServiceAccount of this name, and returns a token for it.
func (s *scraper) token(account string) string {
	s.T.Helper()
	s.Kubectl("create", "serviceaccount", account)
	return strings.TrimSpace(s.Kubectl("create", "token", account))
}

// mayRead allows an account to read metrics, until the test is over or the returned function is called.
func (s *scraper) mayRead(account string) (revoke func()) {
	s.T.Helper()
	binding := s.Name + "-" + account
	s.Kubectl("create", "clusterrolebinding", binding, "--clusterrole", "podmanager-metrics-reader", "--serviceaccount", s.Name+":"+account)
	revoke = func() {
		_ = shared.kube.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding, metav1.DeleteOptions{})
	}
	s.T.Cleanup(revoke)
	return revoke
}

// get returns the answer of a controller.
func (s *scraper) get(p *lab.Process, path, token string) (int, string) {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.Ctx, http.MethodGet, "https://"+p.Metrics+path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.T.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// awaitAnswer waits until a request for a path gets this status code, and a body that contains part. That may take a while, because the controller
// caches reviews.
func (s *scraper) awaitAnswer(p *lab.Process, path, token string, code int, part string) {
	s.T.Helper()
	s.AwaitFor(2*harness.Patience, fmt.Sprintf("%s to answer %d", path, code), func() (any, bool) {
		got, body := s.get(p, path, token)
		return fmt.Sprint(got, " ", body), got == code && strings.Contains(body, part)
	})
}

// Metrics cannot be read without a token, or without permission. The permission can be granted and revoked. Probes need no token.
func TestSecureMetrics(t *testing.T) {
	s := newScraper(newSpace(t))
	p := s.private("-metrics-secure", "-object-metrics")
	stranger, prometheus := s.token("stranger"), s.token("prometheus")
	revoke := s.mayRead("prometheus")
	for _, path := range []string{serve.MetricsPath, serve.ObjectMetricsPath} {
		for token, want := range map[string]int{"": 401, "nonsense": 401, stranger: 403} {
			if code, body := s.get(p, path, token); code != want || strings.Contains(body, "podmanager_") {
				t.Errorf("%s answers %d, want %d: %s", path, code, want, body)
			}
		}
	}
	s.awaitAnswer(p, serve.MetricsPath, prometheus, 200, "podmanager_panics_total")
	s.awaitAnswer(p, serve.ObjectMetricsPath, prometheus, 200, "kube_podmanager_spec_replicas")
	if _, err := p.Ready(); err != nil {
		t.Errorf("/readyz needs a token: %v", err)
	}
	if body, err := p.ReadMetrics(); err == nil || strings.Contains(body, "podmanager_") {
		t.Errorf("the metrics are served without TLS: %v", err)
	}
	revoke()
	s.awaitAnswer(p, serve.MetricsPath, prometheus, 403, "system:serviceaccount:"+s.Name+":prometheus may not get /metrics")
	s.mayRead("stranger")
	s.awaitAnswer(p, serve.MetricsPath, stranger, 200, "podmanager_panics_total")
	for _, token := range []string{stranger, prometheus} {
		if lines := logged(t, p, token); len(lines) > 0 {
			t.Errorf("the log has a token: %q", lines)
		}
	}
}

// While the API server cannot authenticate or authorize a client, the controller does not serve its metrics to the client. It does so again once the
// API server can.
func TestSecureMetricsWithoutReviews(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"tokenreviews", "subjectaccessreviews"} {
		t.Run(resource, func(t *testing.T) {
			f := newFaulty(t, "-metrics-secure")
			s := newScraper(f.space)
			token := s.token("prometheus")
			s.mayRead("prometheus")
			mend := f.answer("no "+resource, 500, func(r faults.Request) bool { return r.Resource == resource })
			for range 3 {
				if code, body := s.get(f.controller, serve.MetricsPath, token); code != 503 || strings.Contains(body, "podmanager_") {
					t.Errorf("answers %d, want 503: %s", code, body)
				}
			}
			if lines := logged(t, f.controller, `"Cannot authorize requests for metrics`); len(lines) != 1 {
				t.Errorf("the log reports that %d times, want once: %q", len(lines), lines)
			}
			mend()
			s.awaitAnswer(f.controller, serve.MetricsPath, token, 200, "podmanager_panics_total")
		})
	}
}

// An unauthenticated client sends 100 random tokens a second. Other clients can still read the metrics, even when the controller has to check their
// tokens again.
func TestSecureMetricsBesideStrangers(t *testing.T) {
	s := newScraper(newSpace(t))
	p := s.private("-metrics-secure")
	token := s.token("prometheus")
	s.mayRead("prometheus")
	s.awaitAnswer(p, serve.MetricsPath, token, 200, "podmanager_panics_total")
	const length, perSecond = 13 * time.Second, 100 // the controller caches a review for 10 s, and sends at most 50 a second
	pace := time.NewTicker(time.Second / perSecond)
	defer pace.Stop()
	for sent, began := 0, time.Now(); time.Since(began) < length; sent++ {
		<-pace.C
		if code, body := s.get(p, serve.MetricsPath, fmt.Sprint("nonsense-", sent)); code != 401 && code != 429 {
			t.Fatalf("a request with a random token is answered %d: %s", code, body)
		}
		if sent%perSecond != 0 {
			continue
		}
		if code, body := s.get(p, serve.MetricsPath, token); code != 200 {
			t.Errorf("after %v and %d requests with random tokens, the scrape is answered %d: %s", time.Since(began), sent, code, body)
		}
	}
	harness.WantMemory(t, p, quarterOfMemory)
}

// If the controller has no permission to create reviews, the metrics cannot be read.
func TestSecureMetricsWithoutRights(t *testing.T) {
	s := newScraper(newSpace(t))
	account, kubeconfig := s.account()
	s.permit(account)
	p := s.private("-metrics-secure", "-kubeconfig", kubeconfig)
	token := s.token("prometheus")
	s.mayRead("prometheus")
	if code, body := s.get(p, serve.MetricsPath, token); code != 503 || strings.Contains(body, "podmanager_") {
		t.Errorf("answers %d, want 503: %s", code, body)
	}
	if lines := logged(t, p, "cannot create resource"); len(lines) != 1 {
		t.Errorf("the log does not report the missing permission exactly once: %q", lines)
	}
}
