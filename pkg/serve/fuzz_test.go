package serve

import (
	"net/http"
	"strings"
	"testing"
)

// For any Authorization header, method and path, only authenticated users get through, and only to paths that they may read.
func FuzzGuard(f *testing.F) {
	f.Add("Bearer token-prometheus", "GET", "/metrics")
	f.Add("bearer  token-prometheus ", "get", "/metrics")
	f.Add("Basic token-prometheus", "GET", "/metrics")
	f.Add("Bearer token-prometheus", "POST", "/metrics/../metrics")
	f.Add("Bearer\ttoken-prometheus", "GET", "//metrics")
	f.Add("Bearer token-jane", "HEAD", "/metrics")
	reviewer := newReviewer() // creating one takes longer than trying hundreds of inputs
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
				t.Fatalf("%s %q with %q gets %d, although it is allowed: %t", method, path, authorization, got, may)
			}
		}
	})
}
