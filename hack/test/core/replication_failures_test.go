//go:build e2e

package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// nowhere is a spec whose pods are never scheduled, so that only the test changes them.
const nowhere = "{%s, template: {spec: {nodeSelector: {nowhere: ''}, containers: [{name: a, image: '%s'}]}}}"

// fail makes a pod fail at a time, truncated to seconds.
func (s *space) fail(pod string, at time.Time) time.Time {
	s.T.Helper()
	at = at.UTC().Truncate(time.Second)
	s.setPodStatus(pod, fmt.Sprintf(`{"phase":"Failed","containerStatuses":[{"name":"a","image":"a","imageID":"","ready":false,"restartCount":0,
		"state":{"terminated":{"exitCode":1,"reason":"Error","startedAt":%[1]q,"finishedAt":%[1]q}}}]}`, at.Format(time.RFC3339)))
	return at
}

// awaitActive waits until there is exactly one active pod, other than the given one.
func (s *space) awaitActive(limit time.Duration, before *corev1.Pod) *corev1.Pod {
	s.T.Helper()
	var active *corev1.Pod
	s.AwaitFor(limit, "a pod in place of the failed one", func() (any, bool) {
		pods := s.Pods()
		if len(pods) != 1 || before != nil && pods[0].UID == before.UID {
			return podNames(pods), false
		}
		active = &pods[0]
		return nil, true
	})
	return active
}

// awaitFirstStatus waits for the first status. A busy controller may write the first status of a PodManager that does not become ready up to 15 s
// late.
func (s *space) awaitFirstStatus(name string) {
	s.T.Helper()
	s.Await("the first status", func() (any, bool) {
		status := s.Manager(name).Status
		return status, status.ObservedGeneration > 0
	})
}

// awaitBackOff waits until the status reports the number of failures in a row, and when the next pod is due.
func (s *space) awaitBackOff(inARow int, next time.Time) {
	s.T.Helper()
	s.Await("the status to report the backoff", func() (any, bool) {
		got := s.Condition("web", v1.ConditionReady)
		_, text, _ := strings.Cut(got.Message, "next try at ")
		told, err := time.Parse(time.RFC3339, text)
		// The kube-scheduler may write a condition of the pod a moment after its failure, and the backoff begins with the later of the two.
		late := told.Sub(next.Truncate(time.Second))
		return got, got.Status == "False" && got.Reason == v1.ReasonBackOff && err == nil && late >= 0 && late <= harness.Scaled(3*time.Second) &&
			strings.Contains(got.Message, fmt.Sprintf("(%d in a row)", inARow))
	})
}

// A failed pod is replaced at once, a failed replacement after 10 s, the next one after 20 s. A restart of the controller does not shorten the
// backoff. A changed template ends it.
func TestFailedPodsBackOff(t *testing.T) {
	s := newSpace(t)
	controller := s.private()
	failuresBefore := func(pod *corev1.Pod, want int) {
		t.Helper()
		got := pod.Annotations[v1.AnnotationFailuresBefore]
		if want == 0 && got != "" || want != 0 && got != strconv.Itoa(want) {
			t.Errorf("%s says that %q have failed before it, want %d", pod.Name, got, want)
		}
	}
	s.applyPrivate("web", fmt.Sprintf(nowhere, "replicas: 1", "first"))
	s.awaitFirstStatus("web")
	first := s.awaitActive(harness.Patience, nil)
	failuresBefore(first, 0)

	s.fail(first.Name, time.Now())
	second := s.awaitActive(9*time.Second, first) // a backoff would be 10 s
	failuresBefore(second, 1)

	failed := s.fail(second.Name, time.Now())
	s.awaitBackOff(2, failed.Add(10*time.Second))
	s.restart(controller)
	third := s.awaitActive(harness.Patience, second)
	failuresBefore(third, 2)
	if waited := third.CreationTimestamp.Sub(failed); waited < 10*time.Second {
		t.Errorf("the next try came after %v, want 10 s", waited)
	}

	failed = s.fail(third.Name, time.Now())
	s.awaitBackOff(3, failed.Add(20*time.Second))
	s.applyPrivate("web", fmt.Sprintf(nowhere, "replicas: 1", "second"))
	fourth := s.awaitActive(15*time.Second, third) // the backoff would be 20 s
	failuresBefore(fourth, 0)
	if got := fourth.Spec.Containers[0].Image; got != "second" {
		t.Errorf("%s runs %s", fourth.Name, got)
	}
	s.Await("the backoff to be over", func() (any, bool) {
		got := s.Condition("web", v1.ConditionReady)
		return got, got.Reason == v1.ReasonPodsNotReady
	})
	s.fail(fourth.Name, time.Now())
	failuresBefore(s.awaitActive(5*time.Second, fourth), 1)
}

// While the controller backs off from replacing a failed pod, it replaces another lost pod at once.
func TestBackOffIsForFailedPodsOnly(t *testing.T) {
	s := newSpace(t)
	s.apply("web", fmt.Sprintf(nowhere, "replicas: 2", "a"))
	s.awaitPods("web-0 web-1")
	s.awaitFirstStatus("web")
	s.fail("web-0", time.Now())
	s.awaitPods("web-1 web-2")
	failed := s.fail("web-2", time.Now())
	s.awaitBackOff(2, failed.Add(10*time.Second))
	before := s.pod("web-1").UID
	s.deletePod("web-1")
	s.Await("the deleted pod to be replaced", func() (any, bool) {
		pods := s.Pods()
		return podNames(pods), len(pods) == 1 && pods[0].UID != before
	})
	if now := time.Now(); now.After(failed.Add(10 * time.Second)) {
		t.Errorf("the deleted pod was replaced at %v only, when the failed pod was due, too", now)
	}
}

// A failed pod carries the number of failures. It stays until its replacement exists, whatever failedPodsHistoryLimit is.
func TestBackOffOutlivesARefusal(t *testing.T) {
	s := newSpace(t)
	s.apply("web", fmt.Sprintf(nowhere, "replicas: 1, failedPodsHistoryLimit: 0", "a"))
	first := s.awaitActive(harness.Patience, nil)
	s.Kubectl("create", "quota", "none", "--hard=pods=0")
	s.Await("the quota to be in force", func() (any, bool) {
		out := s.Kubectl("get", "quota", "none", "-o", "jsonpath={.status.hard.pods}")
		return out, out == "0"
	})
	s.fail(first.Name, time.Now())
	s.awaitRefusal("web", v1.ReasonForbidden, "exceeded quota: none")
	s.Kubectl("delete", "quota", "none")
	s.patchManager("web", `{"spec":{"minReadySeconds":1}}`) // a changed spec is tried at once
	if got := s.awaitActive(harness.Patience, first).Annotations[v1.AnnotationFailuresBefore]; got != "1" {
		t.Errorf("the replacement says that %q have failed before it, want 1", got)
	}
	s.Await("the failed pod to be gone", func() (any, bool) { all := s.AllPods(); return podNames(all), len(all) == 1 })
}

// A node whose clock is ahead does not extend the backoff.
func TestFailedInTheFuture(t *testing.T) {
	s := newSpace(t)
	s.apply("web", fmt.Sprintf(nowhere, "replicas: 1", "a"))
	first := s.awaitActive(harness.Patience, nil)
	s.fail(first.Name, time.Now().Add(time.Hour))
	s.awaitActive(5*time.Second, first)
}

// The newest failed pods stay for inspection, up to failedPodsHistoryLimit.
func TestFailedPodsHistory(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string][]string{
		"":                            {"web-0"},
		", failedPodsHistoryLimit: 2": {"web-0", "web-1"},
		", failedPodsHistoryLimit: 0": {},
	} {
		t.Run("replicas: 3"+limit, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", fmt.Sprintf(nowhere, "replicas: 3"+limit, "a"))
			s.awaitPods("web-0 web-1 web-2")
			s.Await("the scheduler to have tried the pods, because a later write of it would pass for a later failure", func() (any, bool) {
				pods := s.AllPods()
				return pods, !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return podstate.Condition(&pod, corev1.PodScheduled) == nil })
			})
			before := uids(s.AllPods())
			var last time.Time
			for _, name := range []string{"web-2", "web-1", "web-0"} {
				// The times of failure have to differ, and are in whole seconds.
				s.Await("the next second", func() (any, bool) { return nil, time.Now().Truncate(time.Second).After(last) })
				last = s.fail(name, time.Now())
			}
			s.Await(fmt.Sprintf("of the failed pods %v to be left", want), func() (any, bool) {
				var failed []string
				for _, pod := range s.AllPods() {
					if pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp == nil && pod.UID == before[pod.Name] {
						failed = append(failed, pod.Name)
					}
				}
				active := s.Pods()
				all := s.AllPods()
				return podNames(all), slices.Equal(failed, want) && len(active) == 3 && len(all) == 3+len(want)
			})
			harness.Steadily(s.T, 300*time.Millisecond, "the failed pods stay", func() (any, bool) { all := s.AllPods(); return podNames(all), len(all) == 3+len(want) })
		})
	}
}

// An autoscaler scales to zero through the scale subresource while the last pod is in backoff. When it scales up again, the pod exists at once.
func TestScaleFromZero(t *testing.T) {
	s := newSpace(t)
	s.apply("web", fmt.Sprintf(nowhere, "replicas: 1", "first"))
	s.awaitFirstStatus("web")
	first := s.awaitActive(harness.Patience, nil)
	s.patchPod(first.Name, fmt.Sprintf(`{"annotations":{%q:"8"}}`, v1.AnnotationFailuresBefore))
	failed := s.fail(first.Name, time.Now())
	s.awaitBackOff(9, failed.Add(10*time.Minute))
	s.Kubectl("scale", "pm/web", "--replicas=0")
	s.Await("web to be scaled to zero", func() (any, bool) {
		got := s.Condition("web", v1.ConditionReady)
		return got, got.Reason == v1.ReasonScaledToZero
	})
	s.Kubectl("scale", "pm/web", "--replicas=1")
	s.awaitActive(harness.Patience, first)
}
