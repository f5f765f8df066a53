//go:build e2e

package node

import (
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// A container that exits with a code that its own restart rule expects is restarted by the kubelet, and its revision is not blamed. Without
// the rule the same exit counts against the revision.
func TestExpectedExit(t *testing.T) {
	t.Parallel()
	const rule = ", restartPolicy: Always, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [7]}}]"
	for name, test := range map[string]struct {
		fields   string
		isBlamed bool
	}{
		"by a rule": {fields: rule},
		"by none":   {isBlamed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			ended := *updated(s.try("", test.fields))
			s.tell(&ended, "/crash")
			s.Await("the container to be restarted, and the status to report it", func() (any, bool) {
				manager := s.manager()
				isBlamed := manager.Status.FailedRevision != "" || manager.Status.Rollout != nil && len(manager.Status.Rollout.Failing) > 0
				for _, pod := range s.pods() {
					status := pod.Status.ContainerStatuses[0]
					if pod.UID == ended.UID && status.RestartCount > 0 && status.Ready {
						return harness.Brief(manager), isBlamed == test.isBlamed
					}
				}
				return harness.Brief(manager), test.isBlamed && isBlamed // rolled back already
			})
			if !test.isBlamed {
				s.triedOn()
			}
		})
	}
}

// A label that the pods read through their environment cannot reach a running container: the pods are replaced, and have the new value.
func TestLabelInEnvironment(t *testing.T) {
	s := newSpace(t)
	const env = ", env: [{name: TIER, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[''tier'']'}}}]"
	tier := func(value string) string {
		return strings.Replace(spec(2, inPlaceIfPossible, "", web("1", env)), "{app: web}", "{app: web, tier: "+value+"}", 1)
	}
	s.apply(tier("back"))
	s.awaitReady(2)
	before := s.pods()
	s.apply(tier("front"))
	s.awaitReady(2)
	if left := s.left(before); len(left) > 0 {
		t.Errorf("%d pods were not replaced", len(left))
	}
	for _, pod := range s.pods() {
		if got := s.ask(&pod, 8080).Env["TIER"]; got != "front" {
			t.Errorf("%s has TIER=%q", pod.Name, got)
		}
	}
}
