//go:build e2e

package core

import (
	"fmt"
	"maps"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// At most maxUnavailable pods are out of service at any time, however many pods there are.
func TestInPlaceBudget(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limits      string
		unavailable int
	}{
		"a number":     {"maxSurge: 0, maxUnavailable: 3", 3},
		"a percentage": {"maxSurge: 0, maxUnavailable: 24%", 4},
		"the default":  {"maxSurge: 25%", 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := "podUpdatePolicy: InPlaceIfPossible, " + test.limits
			s.apply("web", rolloutSpec(20, limits, "image: 'app:1'"))
			s.awaitReady("web", 20)
			before := s.Pods()
			w := s.WatchPods()
			s.apply("web", rolloutSpec(20, limits, "image: 'app:2'"))
			s.hasRestarted(s.awaitInPlace(before), 1)
			w.NothingMoved()
			w.Always(within(20-test.unavailable, 20, serves))
			if fewest, _ := w.Extremes(serving); fewest > 20-test.unavailable {
				t.Errorf("never more than %d pods at a time were changed, of %d that may be", 20-fewest, test.unavailable)
			}
		})
	}
}

// With maxUnavailable 0, surge pods stand in for the pods that are being updated. In the end the original pods are left.
func TestInPlaceSurge(t *testing.T) {
	s := newSpace(t)
	limits := "podUpdatePolicy: InPlaceIfPossible, maxSurge: 2, maxUnavailable: 0"
	s.apply("web", rolloutSpec(10, limits, "image: 'app:1'"))
	s.awaitReady("web", 10)
	before := s.Pods()
	w := s.WatchPods()
	s.apply("web", rolloutSpec(10, limits, "image: 'app:2'"))
	s.awaitReady("web", 10)
	w.Always(within(10, 12, serves))
	if now := s.Pods(); !maps.Equal(uids(now), uids(before)) {
		t.Errorf("the pods are not the same: %v before, %v now", podNames(before), podNames(now))
	}
	s.hasRestarted(ofImage(s.Pods(), "app:2"), 1)
}

// The cost: one patch for each pod, three patches if the pod is resized (announce, resize, label), and no create or delete.
func TestInPlaceCost(t *testing.T) {
	const replicas = 100
	s := newCost(newSpace(t))
	limits := fmt.Sprintf("podUpdatePolicy: %s, maxSurge: 0, maxUnavailable: 50", v1.InPlaceOnly)
	s.applyPrivate("web", rolloutSpec(replicas, limits, sized("app:1", someCPU, "")))
	s.awaitReady("web", replicas)
	s.awaitQuiet()
	before := s.Pods()
	for _, change := range []struct {
		what, template string
		patches        int
	}{
		{"an image", sized("app:2", someCPU, ""), 1},
		{"an image and the CPU", sized("app:3", moreCPU, ""), 3},
	} {
		s.applyPrivate("web", rolloutSpec(replicas, limits, change.template))
		s.awaitInPlace(before)
		writes := s.awaitQuiet()
		t.Logf("%s: %s", change.what, list(writes))
		patches := writes["patch pods"] + writes["patch pods/resize"] + writes["patch pods/status"]
		if patches != change.patches*replicas {
			t.Errorf("%s: %d patches for %d pods, want %d for each", change.what, patches, replicas, change.patches)
		}
		if moved := writes["create pods"] + writes["delete pods"]; moved != 0 {
			t.Errorf("%s: %d pods were created or deleted", change.what, moved)
		}
		before = s.Pods()
	}
}
