//go:build e2e

package core

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Images that the simulated nodes know.
const (
	good       = "app:1"
	better     = "app:2"
	crashing   = "app:crash"          // repeatedly becomes ready for a second and exits
	missing    = "app:does-not-exist" // cannot be pulled
	neverReady = "app:never-ready"    // runs, but never becomes ready
)

// careful returns a minReadySeconds that is longer than the time for which crashing pods are ready. It has a margin, because nodes report times in
// whole seconds, and a busy machine is late. The value is the same for all tests, because some apply it twice.
var careful = sync.OnceValue(func() string {
	return fmt.Sprintf("minReadySeconds: %.0f, ", harness.Scaled(8*time.Second).Seconds())
})

// risky returns the spec of a rollout with a failure policy.
func risky(replicas int, limits, policy, image string) string {
	return rolloutSpec(replicas, limits, policy+", image: '"+image+"'")
}

// isBad reports whether a pod of an image has crashed. A container that is restarted for another image has another exit code.
func isBad(pod *corev1.Pod, image string) bool {
	for _, status := range pod.Status.ContainerStatuses {
		ended := status.State.Terminated
		if ended != nil && ended.ExitCode == 1 && pod.Spec.Containers[0].Image == image {
			return true
		}
	}
	return false
}

// awaitCondition waits until a condition of web has this status, this reason, and a message that matches words.
func (s *space) awaitCondition(kind string, status metav1.ConditionStatus, reason, words string) metav1.Condition {
	s.T.Helper()
	var got metav1.Condition
	s.Await(fmt.Sprintf("%s to be %s because of %s: %s", kind, status, reason, words), func() (any, bool) {
		got = s.Condition("web", kind)
		return harness.Brief(s.Manager("web")), got.Status == status && got.Reason == reason && regexp.MustCompile(words).MatchString(got.Message)
	})
	return got
}

// Pods that crash, and are ready in between, halt the rollout before too many pods are unavailable. The rollout stays halted, and the message does
// not change.
func TestHalt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limits string
		// bad is the maximum number of pods that get the image.
		bad int
	}{
		"without surge": {"maxSurge: 0, maxUnavailable: 2", 2},
		"with surge":    {"maxSurge: 3, maxUnavailable: 2", 5},
		"in place":      {"maxSurge: 0, maxUnavailable: 2, podUpdatePolicy: InPlaceIfPossible", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			const grace = 4
			policy := fmt.Sprintf(careful()+"failurePolicy: {onFailure: Halt, gracePeriodSeconds: %d}", grace)
			s.apply("web", risky(10, test.limits, policy, good))
			s.awaitReady("web", 10)
			w := s.WatchPods()
			s.apply("web", risky(10, test.limits, policy, crashing))
			words := `^halted with \d pods? updated to web-\w+: web-\d+: container app: (CrashLoopBackOff: )?Error, exit code 1$`
			s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonHalted, words)
			s.awaitCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonHalted, words)
			if stalled := s.Condition("web", v1.ConditionStalled); stalled.Type != "" {
				t.Errorf("web is Stalled before its pods have had time to recover: %+v", stalled)
			}
			first := s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, words)
			if after := first.LastTransitionTime.Sub(firstFailure(w.Past(), crashing)); after < (grace-1)*time.Second || after > grace*time.Second+harness.Scaled(15*time.Second) {
				t.Errorf("stalled %v after the first failure, want %d s", after, grace)
			}
			flapped := ""
			harness.Steadily(s.T, 3*time.Second, "web stays Stalled, whether its pods are up or down", func() (any, bool) {
				ready, stalled := s.Condition("web", v1.ConditionReady), s.Condition("web", v1.ConditionStalled)
				if stalled.Reason != v1.ReasonHalted || stalled.LastTransitionTime != first.LastTransitionTime {
					flapped = fmt.Sprintf("%+v", stalled)
				}
				bad := len(ofImage(s.Pods(), crashing))
				return fmt.Sprint(bad, ready), bad <= test.bad && ready.Reason == v1.ReasonHalted && regexp.MustCompile(words).MatchString(ready.Message)
			})
			w.Always(within(8, 10+test.bad-2, servesImage(good)))
			if flapped != "" {
				t.Errorf("Stalled came and went: %s", flapped)
			}
			s.Await("one warning about the halt", func() (any, bool) {
				count, notes := s.warnings("web", v1.EventHalted)
				return notes, count == 1 && strings.Contains(notes, "exit code 1\n")
			})
		})
	}
}

// firstFailure returns when the first pod of an image was seen to have failed.
func firstFailure(past []harness.Sighting, image string) time.Time {
	for _, seen := range past {
		if isBad(seen.Pod, image) {
			return seen.At
		}
	}
	return time.Time{}
}

// If the user corrects the template while the rollout is halted, the rollout continues at once. This holds for updates in place, too.
func TestHaltIsMended(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]string{
		"by replacing": "maxSurge: 1, maxUnavailable: 2",
		"in place":     "maxSurge: 0, maxUnavailable: 2, podUpdatePolicy: InPlaceOnly",
	} {
		for _, image := range []string{better, good} {
			t.Run(name+", to "+image, func(t *testing.T) {
				s := newSpace(t)
				policy := "failurePolicy: {onFailure: Halt, gracePeriodSeconds: 1}"
				s.apply("web", risky(10, limits, policy, good))
				s.awaitReady("web", 10)
				before := uids(s.Pods())
				w := s.WatchPods()
				s.apply("web", risky(10, limits, policy, missing))
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonHalted, `web-\d+: container app: (ImagePullBackOff|ErrImagePull): `)
				s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, `container app: ImagePullBackOff: `)
				s.apply("web", risky(10, limits, policy, image))
				s.awaitReady("web", 10)
				w.Always(within(8, 11, func(pod *corev1.Pod) bool { return serves(pod) && pod.Spec.Containers[0].Image != missing }))
				if left := s.Condition("web", v1.ConditionStalled); left.Type != "" || len(ofImage(s.Pods(), image)) != 10 {
					t.Errorf("Stalled is left: %+v", left)
				}
				kept := 0
				for name, uid := range uids(s.Pods()) {
					if before[name] == uid {
						kept++
					}
				}
				if name == "in place" && kept != 10 || image == good && kept < 8 {
					t.Errorf("only %d pods are the same as before", kept)
				}
			})
		}
	}
}

// If a failed pod stays available for the grace period, its failure no longer counts, and the rollout continues.
func TestHaltIsForgiven(t *testing.T) {
	s := newSpace(t)
	spec := func(partition int, image string) string {
		return risky(4, fmt.Sprintf("maxSurge: 0, maxUnavailable: 1, partition: %d", partition), "failurePolicy: {gracePeriodSeconds: 3}", image)
	}
	s.apply("web", spec(3, good))
	s.awaitReady("web", 4)
	s.apply("web", spec(3, better))
	pod := ofImage(s.awaitPartition(good, 3, better, 1), better)[0].Name
	s.setPodStatus(pod, `{"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"app","image":"app:2","imageID":"x","ready":false,
		"restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":3,"reason":"Error"}}}]}`)
	s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonHalted, "^halted with 1 pod updated .*: "+pod+": container app: CrashLoopBackOff: Error, exit code 3$")
	s.apply("web", spec(0, better))
	back := time.Now()
	s.setPodStatus(pod, fmt.Sprintf(`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%[1]q}],"containerStatuses":[{"name":"app","image":"app:2",
		"imageID":"x","ready":true,"restartCount":1,"state":{"running":{"startedAt":%[1]q}},"lastState":{"terminated":{"exitCode":3,"reason":"Error"}}}]}`,
		back.UTC().Format(time.RFC3339)))
	s.Await("another pod to be updated", func() (any, bool) {
		updated := podNames(ofImage(s.Pods(), better))
		return updated, len(updated) > 1
	})
	if waited := time.Since(back); waited < 2*time.Second {
		t.Errorf("the rollout went on after %v, want 3 s", waited)
	}
	s.awaitReady("web", 4)
}

// With Continue, the rollout continues although pods fail.
func TestContinueOnFailure(t *testing.T) {
	s := newSpace(t)
	spec := func(partition int, image string) string {
		return risky(4, fmt.Sprintf("maxSurge: 0, maxUnavailable: 2, partition: %d", partition), "failurePolicy: {onFailure: Continue}", image)
	}
	s.apply("web", spec(3, good))
	s.awaitReady("web", 4)
	// First a single pod, so that it has failed before the others are updated.
	s.apply("web", spec(3, crashing))
	s.Await("one pod to have crashed", func() (any, bool) {
		bad := ofImage(s.Pods(), crashing)
		return podNames(bad), len(bad) == 1 && len(bad[0].Status.ContainerStatuses) == 1 && bad[0].Status.ContainerStatuses[0].RestartCount > 0
	})
	s.apply("web", spec(0, crashing))
	s.Await("all pods to be updated", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.UpdatedReplicas == 4 && len(ofImage(s.Pods(), crashing)) == 4
	})
	if count, notes := s.warnings("web", v1.EventHalted); count != 0 {
		t.Errorf("%d events about a halt: %s", count, notes)
	}
	if got := s.Manager("web").Status.FailedRevision; got != "" {
		t.Errorf("the revision %s has failed", got)
	}
}
