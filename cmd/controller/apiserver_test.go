package main

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

// logged is what a function says in the log.
func logged(t *testing.T, say func(klog.Logger)) string {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	say(logger)
	return logger.GetSink().(ktesting.Underlier).GetBuffer().String()
}

func TestExamine(t *testing.T) {
	const list = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods"},{"name":%q}]}`
	tests := map[string]struct {
		core, version http.Handler
		want          []string // in the only line; none for silence
	}{
		"all there": {answer(200, fmt.Sprintf(list, "pods/resize")), answer(200, `{"gitVersion":"v1.36.3"}`), nil},
		"no resize": {answer(200, fmt.Sprintf(list, "pods/log")), answer(200, `{"gitVersion":"v1.31.2"}`),
			[]string{"pods/resize", "CPU and memory cannot be updated in place", "Kubernetes 1.33", "v1.31.2"}},
		"no resize, no version": {answer(200, fmt.Sprintf(list, "pods/log")), status(403, "Forbidden"), []string{"pods/resize", "unknown"}},
		"may not ask":           {status(403, "Forbidden"), status(403, "Forbidden"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/apis/", answer(200, fmt.Sprintf(resources, "podmanagers")))
			mux.Handle("/api/v1", test.core)
			mux.Handle("/version", test.version)
			server := httptest.NewServer(mux)
			defer server.Close()
			config := NewOptions().Config()
			config.Master = server.URL
			c, err := connect(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			said := logged(t, func(logger klog.Logger) {
				examine(klog.NewContext(t.Context(), logger.V(0)), c.PodManagers.Discovery())
			})
			lines := strings.Count(said, "INFO The API server lacks")
			if (lines == 1) != (len(test.want) > 0) {
				t.Errorf("%d lines: %s", lines, said)
			}
			for _, part := range test.want {
				if !strings.Contains(said, part) {
					t.Errorf("said %q, want %q in it", said, part)
				}
			}
		})
	}
}

// gates has everything on or off.
type gates bool

func (g gates) Enabled(clientfeatures.Feature) bool { return bool(g) }

func TestGates(t *testing.T) {
	if said := logged(t, func(logger klog.Logger) { tellGates(logger, gates(true)) }); said != "" {
		t.Errorf("said %q about nothing", said)
	}
	said := logged(t, func(logger klog.Logger) { tellGates(logger, gates(false)) })
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, "do not set KUBE_FEATURE_AtomicFIFO=false") {
		t.Errorf("said %q", said)
	}
}

// An API server that only ever has errors of its own to tell counts as away.
func TestHearing(t *testing.T) {
	for code, isHeard := range map[int]bool{200: true, 404: true, 429: true, 500: false, 503: false} {
		server := httptest.NewServer(status(code, "Any"))
		defer server.Close()
		h := &hearing{}
		client := http.Client{Transport: h.wrap(http.DefaultTransport)}
		response, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := h.note() == ""; got != isHeard {
			t.Errorf("%d: heard is %v, want %v", code, got, isHeard)
		}
	}
}
