//go:build e2e

package evictors

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// oldPods is a policy that evicts all pods of a namespace that are older than a second.
const oldPods = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: old-pods
  pluginConfig:
  - name: DefaultEvictor
    args: {}
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 1, namespaces: {include: [%s]}}
  plugins:
    deschedule: {enabled: [PodLifeTime]}
`

// deschedule runs the descheduler once.
func (s *space) deschedule() {
	s.T.Helper()
	policy := filepath.Join(s.T.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, fmt.Appendf(nil, oldPods, s.Name), 0o600); err != nil {
		s.T.Fatal(err)
	}
	p := s.run(shared.descheduler, "--client-connection-kubeconfig", s.Cluster.Kubeconfig, "--policy-config-file", policy,
		"--secure-port", "0", "--disable-metrics", "--leader-elect=false", "--v", "3")
	select {
	case <-p.Exited:
		if p.Err != nil {
			s.T.Fatalf("the descheduler failed: %v\n%s", p.Err, p.Tail(30))
		}
	case <-time.After(harness.Patience):
		s.T.Fatalf("the descheduler has not ended:\n%s", p.Tail(30))
	}
}

// The descheduler evicts old pods. It respects a PodDisruptionBudget. Without one, it evicts several pods at once.
func TestDescheduler(t *testing.T) {
	for name, test := range map[string]struct{ budget, least, most int }{
		"with a budget":    {budget: 3, least: 3, most: 3},
		"without a budget": {least: 0, most: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.ApplyManager("web", "", "{replicas: 4, image: nginx}")
			s.awaitReady("web", 4, nil)
			if test.budget > 0 {
				s.Apply(fmt.Sprintf("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: %d, "+
					"selector: {matchLabels: {podmanager: web}}}}", test.budget))
				s.Await("the budget to allow one pod to go", func() (any, bool) {
					out := s.Kubectl("get", "pdb", "web", "-o", "jsonpath={.status.disruptionsAllowed}")
					return out, out == "1"
				})
			}
			s.Await("the pods to be old", func() (any, bool) {
				pods := s.Pods()
				return pods, !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return time.Since(pod.CreationTimestamp.Time) < 3*time.Second })
			})
			before, w := s.uids(), s.WatchPods()
			s.deschedule()
			s.awaitReady("web", 4, nil)
			least, _ := w.Extremes(func(pods []*corev1.Pod) int { return ready(pods) })
			if least < test.least || least > test.most {
				t.Errorf("at least %d pods were ready at all times, want %d to %d", least, test.least, test.most)
			}
			gone := 0
			for uid := range before {
				if !s.uids()[uid] {
					gone++
				}
			}
			t.Logf("%d of %d pods were evicted, and at least %d ready at all times", gone, len(before), least)
			if gone == 0 {
				t.Error("no pod was evicted, so this test proves nothing")
			}
		})
	}
}
