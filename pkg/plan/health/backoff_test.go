package health_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
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

// A pod names at most 50 of the pods that it replaces, and of a longer text only as many are read.
func TestReplacesIsBounded(t *testing.T) {
	var uids []types.UID
	for i := range 60 {
		uids = append(uids, types.UID(strconv.Itoa(i)))
	}
	pod := Pod(0)
	SetReplaces(pod, uids)
	if got := strings.Count(pod.Annotations[v1.AnnotationReplaces], ",") + 1; got != 50 {
		t.Errorf("writes %d UIDs", got)
	}
	pod.Annotations[v1.AnnotationReplaces] = strings.Repeat("uid,", 100000)
	if got := len(Replaces(pod)); got != 50 {
		t.Errorf("reads %d UIDs", got)
	}
}

func TestRetryIsDescribed(t *testing.T) {
	evicted := FailedPod(0, time.Second, 2, func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on memory" })
	if got := (Retry{Pod: evicted, Failures: 3}).String(); !strings.Contains(got, "web-0 has failed: Evicted: low on memory (3 in a row)") {
		t.Errorf("described as %q", got)
	}
}
