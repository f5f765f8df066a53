package serve

import (
	"net/http"
	"strings"
	"testing"
)

// Whatever a request has as its Authorization, method and path, only who the API server knows gets through, and only to what they may read.
func FuzzGuard(f *testing.F) {
	f.Add("Bearer token-prometheus", "GET", "/metrics")
	f.Add("bearer  token-prometheus ", "get", "/metrics")
	f.Add("Basic token-prometheus", "GET", "/metrics")
	f.Add("Bearer token-prometheus", "POST", "/metrics/../metrics")
	f.Add("Bearer\ttoken-prometheus", "GET", "//metrics")
	f.Add("Bearer token-jane", "HEAD", "/metrics")
	reviewer := newReviewer() // to make one takes longer than to try hundreds of inputs
	f.Fuzz(func(t *testing.T, authorization, method, path string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", nil)
		if err != nil {
			return
		}
		request.URL.Path = path
		request.Header["Authorization"] = []string{authorization}
		guard := NewGuard(reviewer.client)
		reviewer.client.ClearActions()
		kind, token, _ := strings.Cut(authorization, " ")
		isPrometheus := strings.EqualFold(kind, "bearer") && strings.TrimSpace(token) == "token-prometheus"
		may := isPrometheus && strings.EqualFold(request.Method, "get") && path == MetricsPath
		for range 2 { // the second answer is from the cache
			if got := guard.judge(request).code; (got == http.StatusOK) != may || got != http.StatusOK && got != http.StatusUnauthorized && got != http.StatusForbidden {
				t.Fatalf("%q may %s %q: %d", authorization, method, path, got)
			}
		}
	})
}
