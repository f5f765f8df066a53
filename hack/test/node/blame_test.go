//go:build e2e

package node

import (
	"strings"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A rollout in place changes a missing image to another missing image. The controller reports and blames the second revision, too, although the pod
// fails in the same way as before.
func TestMissingImageTwice(t *testing.T) {
	s := newSpace(t)
	s.apply(spec(2, inPlace, policy(v1.HaltOnFailure), web("1", "")))
	s.awaitReady(2)
	s.awaitBaked()
	before := s.pods()
	for _, image := range []string{missing, strings.Replace(missing, ":1/", ":2/", 1)} {
		s.apply(spec(2, inPlace, policy(v1.HaltOnFailure), strings.Replace(web("", ""), "local/web:", image, 1)))
		s.awaitTold(v1.ConditionReady, v1.ReasonHalted, "halted with 1 pod updated", image)
		if count := s.untouched(before); count != 1 {
			t.Errorf("%d pods serve as before, want 1", count)
		}
	}
	s.apply(spec(2, inPlace, policy(v1.HaltOnFailure), web("2", "")))
	s.awaitReady(2)
	s.answers("2")
}
