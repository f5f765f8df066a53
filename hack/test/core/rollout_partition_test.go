//go:build e2e

package core

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// partitioned returns a spec with a podUpdatePolicy and a partition.
func partitioned(replicas int, policy v1.PodUpdatePolicy, partition, image string) string {
	return rolloutSpec(replicas, fmt.Sprintf("podUpdatePolicy: %s, maxSurge: 1, maxUnavailable: 1, partition: %s", policy, partition),
		"image: '"+image+"'")
}

// awaitPartition waits until these numbers of pods have the old and the new image, all serve, and the status says so.
func (s *space) awaitPartition(old string, base int, image string, updated int) []corev1.Pod {
	s.T.Helper()
	var pods []corev1.Pod
	s.Await(fmt.Sprintf("%d pods of %s and %d of %s", base, old, updated, image), func() (any, bool) {
		manager, ready := s.Manager("web"), s.Condition("web", v1.ConditionReady)
		pods = s.Pods()
		seen := fmt.Sprintf("old %v, new %v, of %v\n%s", podNames(ofImage(pods, old)), podNames(ofImage(pods, image)), podNames(pods), harness.Brief(manager))
		status := manager.Status
		for _, count := range []struct{ got, want int }{
			{len(pods), base + updated}, {len(ofImage(pods, old)), base}, {len(ofImage(pods, image)), updated},
			{int(status.Replicas), base + updated}, {int(status.ReadyReplicas), base + updated}, {int(status.AvailableReplicas), base + updated},
			{int(status.CurrentReplicas), base}, {int(status.UpdatedReplicas), updated},
		} {
			if count.got != count.want {
				return seen, false
			}
		}
		return seen, status.ObservedGeneration == manager.Generation && ready.Status == metav1.ConditionTrue && ready.Reason == v1.ReasonPartition &&
			ready.Message == fmt.Sprintf("%d of %d pods available; %d updated, %d not updated because of the partition",
				base+updated, base+updated, updated, base) &&
			status.CurrentRevision != status.UpdateRevision && s.Condition("web", v1.ConditionStalled).Type == ""
	})
	return pods
}

// A lower partition updates more pods, a higher one reverts pods to the old revision. No other pod is touched.
func TestPartition(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][3]string{"numbers": {"3", "1", "4"}, "percentages": {"60%", "39%", "99%"}} {
		for _, policy := range []v1.PodUpdatePolicy{v1.RecreatePods, v1.InPlaceIfPossible} {
			t.Run(name+" "+string(policy), func(t *testing.T) {
				s := newSpace(t)
				s.apply("web", partitioned(5, policy, "0", "app:1"))
				s.awaitReady("web", 5)
				created := uids(s.Pods())
				w := s.WatchPods()
				s.apply("web", partitioned(5, policy, steps[0], "app:2"))
				was := s.awaitPartition("app:1", 3, "app:2", 2)
				s.apply("web", partitioned(5, policy, steps[1], "app:2"))
				is := s.awaitPartition("app:1", 1, "app:2", 4)
				s.hasStayed(ofImage(was, "app:2"), is)
				s.apply("web", partitioned(5, policy, steps[2], "app:2"))
				was, is = is, s.awaitPartition("app:1", 4, "app:2", 1)
				s.hasStayed(ofImage(was, "app:1"), is)
				s.apply("web", partitioned(5, policy, "0", "app:2"))
				manager := s.awaitReady("web", 5)
				s.hasStayed(ofImage(is, "app:2"), s.Pods())
				w.Always(within(4, 6, serves))
				if policy == v1.InPlaceIfPossible {
					w.NothingMoved()
				} else if same := maps.Equal(created, uids(s.Pods())); same {
					t.Error("no pod was replaced")
				}
				if manager.Status.CurrentRevision != manager.Status.UpdateRevision || s.Condition("web", v1.ConditionReady).Reason != v1.ReasonAllAvailable {
					t.Errorf("the rollout has not ended: %s", harness.Brief(manager))
				}
				// There is an event only if a status between two partitions says RollingOut, which a busy controller may skip.
				s.awaitNormals(v1.EventPartition, 1, 3)
			})
		}
	}
}

// hasStayed checks that these pods still exist, with the same images.
func (s *space) hasStayed(before, now []corev1.Pod) {
	s.T.Helper()
	left := map[string]corev1.Pod{}
	for _, pod := range now {
		left[pod.Name] = pod
	}
	for _, pod := range before {
		if is := left[pod.Name]; is.UID != pod.UID || is.Spec.Containers[0].Image != pod.Spec.Containers[0].Image {
			s.T.Errorf("%s need not have been touched", pod.Name)
		}
	}
}

// Scaling respects the partition, as a number or as a percentage. So does the replacement of a lost pod.
func TestPartitionScale(t *testing.T) {
	t.Parallel()
	type step struct{ replicas, base int }
	tests := map[string]struct {
		partition string
		steps     []step
	}{
		"a number":     {"2", []step{{6, 2}, {3, 2}, {2, 2}, {5, 2}}},
		"a percentage": {"50%", []step{{8, 4}, {2, 1}, {5, 2}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", partitioned(4, v1.RecreatePods, "0", "app:1"))
			s.awaitReady("web", 4)
			s.apply("web", partitioned(4, v1.RecreatePods, test.partition, "app:2"))
			pods := s.awaitPartition("app:1", 2, "app:2", 2)
			for _, image := range []string{"app:1", "app:2"} {
				lost := ofImage(pods, image)[0]
				s.deletePod(lost.Name)
				s.Await("a lost pod of "+image+" to be replaced", func() (any, bool) {
					now := s.Pods()
					return podNames(now), len(now) == 4 && uids(now)[lost.Name] != lost.UID
				})
				s.awaitPartition("app:1", 2, "app:2", 2)
			}
			for _, step := range test.steps {
				s.Kubectl("scale", "pm/web", fmt.Sprintf("--replicas=%d", step.replicas))
				s.awaitPartition("app:1", step.base, "app:2", step.replicas-step.base)
			}
		})
	}
}

// A third template replaces the second one. The pods that the partition excludes keep the first one.
func TestPartitionNewTemplate(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1.PodUpdatePolicy{v1.RecreatePods, v1.InPlaceIfPossible} {
		t.Run(string(policy), func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", partitioned(5, policy, "0", "app:1"))
			s.awaitReady("web", 5)
			s.awaitCurrent()
			first := s.Manager("web").Status.CurrentRevision
			w := s.WatchPods()
			s.apply("web", partitioned(5, policy, "3", "app:2"))
			kept := ofImage(s.awaitPartition("app:1", 3, "app:2", 2), "app:1")
			s.apply("web", partitioned(5, policy, "3", "app:3"))
			s.hasStayed(kept, s.awaitPartition("app:1", 3, "app:3", 2))
			if got := s.Manager("web").Status.CurrentRevision; got != first {
				t.Errorf("the current revision is %s, want %s", got, first)
			}
			// Back to the first template: all pods have it, whatever the partition is.
			s.apply("web", partitioned(5, policy, "3", "app:1"))
			s.awaitReady("web", 5)
			s.hasStayed(kept, s.Pods())
			w.Always(within(4, 6, serves))
		})
	}
}

// A partition of all pods, or more, updates none. Without an old revision all pods get the new one.
func TestPartitionOfAll(t *testing.T) {
	t.Parallel()
	for _, partition := range []string{"4", "7", "100%"} {
		t.Run(partition, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", partitioned(4, v1.RecreatePods, partition, "app:1"))
			s.awaitReady("web", 4)
			if got := s.Condition("web", v1.ConditionReady).Reason; got != v1.ReasonAllAvailable {
				t.Errorf("with the first pods, the reason of Ready is %s", got)
			}
			before := versions(s.Pods())
			s.apply("web", partitioned(4, v1.RecreatePods, partition, "app:2"))
			s.awaitPartition("app:1", 4, "app:2", 0)
			harness.Steadily(s.T, 500*time.Millisecond, "no pod is touched", func() (any, bool) {
				now := versions(s.Pods())
				return now, maps.Equal(now, before)
			})
		})
	}
}
