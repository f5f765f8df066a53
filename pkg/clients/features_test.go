package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	clientfeatures "k8s.io/client-go/features"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// logged returns what a function logs.
func logged(t *testing.T, run func(klog.Logger)) string {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	run(logger)
	return logger.GetSink().(ktesting.Underlier).GetBuffer().String()
}

func TestMissingFeatures(t *testing.T) {
	const list = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods"},{"name":%q}]}`
	tests := map[string]struct {
		core, version http.Handler
		want          []string // in the only line; none if nothing is logged
	}{
		"all there": {answer(200, fmt.Sprintf(list, "pods/resize")), answer(200, `{"gitVersion":"v1.36.3"}`), nil},
		"no resize": {answer(200, fmt.Sprintf(list, "pods/log")), answer(200, `{"gitVersion":"v1.31.2"}`),
			[]string{"pods/resize", "CPU and memory cannot be updated in place", "Kubernetes 1.33", "v1.31.2"}},
		"no resize, no version": {answer(200, fmt.Sprintf(list, "pods/log")), statusAnswer(403, "Forbidden"), []string{"pods/resize", "unknown"}},
		"may not ask":           {statusAnswer(403, "Forbidden"), statusAnswer(403, "Forbidden"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/apis/", answer(200, fmt.Sprintf(resources, "podmanagers")))
			mux.Handle("/api/v1", test.core)
			mux.Handle("/version", test.version)
			server := httptest.NewServer(mux)
			defer server.Close()
			c, err := Connect(t.Context(), Config{Master: server.URL, QPS: 50, Burst: 100})
			if err != nil {
				t.Fatal(err)
			}
			output := logged(t, func(logger klog.Logger) {
				c.LogMissingFeatures(klog.NewContext(t.Context(), logger.V(0)))
			})
			lines := strings.Count(output, "INFO The API server lacks")
			if (lines == 1) != (len(test.want) > 0) {
				t.Errorf("%d lines: %s", lines, output)
			}
			for _, part := range test.want {
				if !strings.Contains(output, part) {
					t.Errorf("logged %q, want %q in it", output, part)
				}
			}
		})
	}
}

// gates enables all features or none.
type gates bool

func (g gates) Enabled(clientfeatures.Feature) bool { return bool(g) }

func TestGates(t *testing.T) {
	if output := logged(t, func(logger klog.Logger) { LogDisabledGates(logger, gates(true)) }); output != "" {
		t.Errorf("logged %q, although no feature gate is disabled", output)
	}
	output := logged(t, func(logger klog.Logger) { LogDisabledGates(logger, gates(false)) })
	if strings.Count(output, "\n") != 1 || !strings.Contains(output, "do not set KUBE_FEATURE_AtomicFIFO=false") {
		t.Errorf("logged %q", output)
	}
}
