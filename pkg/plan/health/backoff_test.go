package health_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func TestBackOffGrows(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 0, 2: 10 * time.Second, 3: 20 * time.Second, 4: 40 * time.Second, 7: 320 * time.Second, 8: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := BackOff(failures); got != want {
			t.Errorf("after %d failures wait %v, want %v", failures, got, want)
		}
	}
}

func TestRetryIsDescribed(t *testing.T) {
	evicted := FailedPod(0, time.Second, 2, func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on memory" })
	if got := (Retry{Pod: evicted, Failures: 3}).String(); !strings.Contains(got, "web-0 has failed: Evicted: low on memory (3 in a row)") {
		t.Errorf("described as %q", got)
	}
}
