//go:build e2e

package core

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// impossible are changes that cannot be made in place. why is the status's explanation.
var impossible = map[string]struct{ before, after, why string }{
	"another field": {
		"template: {spec: {containers: [{name: a, image: 'a:1', env: [{name: E, value: a}]}]}}",
		"template: {spec: {containers: [{name: a, image: 'a:2', env: [{name: E, value: b}]}]}}",
		"template.spec.containers[0].env[0].value differs",
	},
	"another container": {
		"template: {spec: {containers: [{name: a, image: 'a:1'}]}}",
		"template: {spec: {containers: [{name: a, image: 'a:1'}, {name: b, image: 'b:1'}]}}",
		"template.spec.containers differs",
	},
	"a limit where there was none": {
		sized("a:1", "requests: {cpu: 100m}", ""), sized("a:1", "requests: {cpu: 100m}, limits: {cpu: 1}", ""),
		"template.spec.containers[0].resources.limits differs",
	},
	"another QoS class": {
		sized("a:1", "requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 2Gi}", ""),
		sized("a:1", "requests: {cpu: 2, memory: 2Gi}, limits: {cpu: 2, memory: 2Gi}", ""),
		"the QoS class would change from Burstable to Guaranteed",
	},
	"a restart": {"image: 'a:1'", "image: 'a:1', restartAt: '2026-01-01T00:00:00Z'", "a restart was asked for"},
	"a restart by annotation": {
		"template: {metadata: {annotations: {a: b}}, spec: {containers: [{name: a, image: 'a:1'}]}}",
		"template: {metadata: {annotations: {a: b, kubectl.kubernetes.io/restartedAt: '2026-01-01T00:00:00Z'}}, spec: {containers: [{name: a, image: 'a:1'}]}}",
		"a restart was asked for",
	},
}

// With InPlaceIfPossible, pods that cannot be updated in place are replaced.
func TestInPlaceImpossible(t *testing.T) {
	t.Parallel()
	for name, test := range impossible {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, v1.InPlaceIfPossible)
			s.apply("web", rolloutSpec(2, limits, test.before))
			s.awaitReady("web", 2)
			before := uids(s.Pods())
			w := s.WatchPods()
			s.apply("web", rolloutSpec(2, limits, test.after))
			manager := s.awaitReady("web", 2)
			for _, pod := range s.Pods() {
				if pod.UID == before[pod.Name] || pod.Labels[v1.LabelRevision] != revision(manager) {
					t.Errorf("%s was not replaced, or has the revision %s", pod.Name, pod.Labels[v1.LabelRevision])
				}
			}
			w.Always(within(1, 2, serves))
		})
	}
}

// With InPlaceOnly, no pod is touched, and the status names the field. Lost pods are replaced by pods of the same revision, and a template that can
// be updated in place is rolled out.
func TestInPlaceOnlyImpossible(t *testing.T) {
	t.Parallel()
	for name, test := range impossible {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, v1.InPlaceOnly)
			s.apply("web", rolloutSpec(2, limits, test.before))
			old := revision(s.awaitReady("web", 2))
			before := versions(s.Pods())
			s.apply("web", rolloutSpec(2, limits, test.after))
			s.awaitNotInPlace(test.why)
			harness.Steadily(s.T, 500*time.Millisecond, "no pod is touched", func() (any, bool) {
				now := versions(s.Pods())
				return now, maps.Equal(now, before)
			})
			if status := s.Manager("web").Status; status.UpdatedReplicas != 0 || status.CurrentReplicas != 2 || status.AvailableReplicas != 2 {
				t.Errorf("counts are wrong: %s", harness.Brief(s.Manager("web")))
			}

			lost := s.pod("web-1").UID
			s.deletePod("web-1")
			s.Await("the lost pod to be replaced by one of the same revision", func() (any, bool) {
				pods := s.Pods()
				return podNames(pods), len(pods) == 2 && pods[1].UID != lost && pods[1].Labels[v1.LabelRevision] == old
			})
			s.apply("web", rolloutSpec(2, limits, test.before))
			s.awaitReady("web", 2)
			if left := s.Condition("web", v1.ConditionStalled); left.Type != "" {
				t.Errorf("Stalled is left: %+v", left)
			}
			if got := s.pod("web-0").ResourceVersion; got != before["web-0"] {
				t.Errorf("web-0 was written to, and is at version %s", got)
			}
		})
	}
}

// A change that is impossible in place does not block the rollout while the partition keeps all pods on the old revision.
func TestInPlaceOnlyImpossibleBehindPartition(t *testing.T) {
	s := newSpace(t)
	limits := fmt.Sprintf(inPlacePolicy+", partition: 2", v1.InPlaceOnly)
	test := impossible["another field"]
	s.apply("web", rolloutSpec(2, limits, test.before))
	s.awaitReady("web", 2)
	s.apply("web", rolloutSpec(2, limits, test.after))
	s.awaitPartition("a:1", 2, "a:2", 0)
	s.apply("web", rolloutSpec(2, fmt.Sprintf(inPlacePolicy+", partition: 1", v1.InPlaceOnly), test.after))
	s.awaitNotInPlace(test.why)
}

// Labels change no container, so no pod is taken out of service for them, and no readiness gate is needed.
func TestInPlaceMetadataNeedsNoGrace(t *testing.T) {
	t.Parallel()
	template := "template: {metadata: {labels: {a: %s}}, spec: {containers: [{name: a, image: 'a:1'}]}}"
	for name, first := range map[string]int{"with the gate": 3, "without the gate": 0} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", rolloutSpec(2, graceful(first), fmt.Sprintf(template, "b")))
			s.awaitReady("web", 2)
			before := s.Pods()
			w := s.WatchPods()
			s.apply("web", rolloutSpec(2, graceful(3), fmt.Sprintf(template, "c")))
			s.hasRestarted(s.awaitInPlace(before), 0)
			w.Always(within(2, 2, serves))
		})
	}
}
