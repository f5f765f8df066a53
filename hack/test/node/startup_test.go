//go:build e2e

package node

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// started returns a container with a startup probe, which fails if the tag is dead. The kubelet probes every 2 s, and kills the container after this
// many failures.
func started(tag string, tries int) string {
	return web(tag, fmt.Sprintf(", startupProbe: {httpGet: {path: /livez, port: 8080}, periodSeconds: 2, timeoutSeconds: 30, failureThreshold: %d}", tries))
}

// A container that is killed because its startup probe fails is a failure: the rollout halts, and the next revision fixes it. In place, the kubelet
// reports the container as ready until its probe is due. The next pod must not be updated because of that report.
func TestStartupProbeKills(t *testing.T) {
	t.Parallel()
	const tries = 2 // the first may be too early on a slow machine
	// minReadySeconds is for a kubelet that gets no CPU time and probes late. TestNeverStarted works without it, so it is not what holds back the next
	// pod.
	halt := policy(v1.HaltOnFailure) + ", minReadySeconds: 5"
	for way, limits := range ways {
		t.Run(way, func(t *testing.T) {
			s := newSpace(t)
			s.apply(spec(2, limits, halt, started("1", tries)))
			s.awaitReady(2)
			s.awaitBaked()
			before := s.pods()
			s.apply(spec(2, limits, halt, started("dead", tries)))
			s.awaitTold(v1.ConditionReady, v1.ReasonHalted, "halted with 1 pod updated", "container web: ", "exit code 0")
			if count := s.untouched(before); count != 1 {
				t.Errorf("%d pods serve as before, want 1", count)
			}
			s.serving(1)
			s.apply(spec(2, limits, halt, started("2", tries)))
			s.awaitReady(2)
			s.answers("2")
		})
	}
}

// A startup probe never succeeds, and may fail for a long time before the kubelet kills the container. The rollout waits at the first pod until its
// deadline, and reports what it waits for.
func TestNeverStarted(t *testing.T) {
	t.Parallel()
	for way, limits := range ways {
		t.Run(way, func(t *testing.T) {
			s := newSpace(t)
			deadline := "progressDeadlineSeconds: 5, failurePolicy: {gracePeriodSeconds: 0}"
			s.apply(spec(2, limits, deadline, started("1", 600)))
			s.awaitReady(2)
			before := s.pods()
			s.apply(spec(2, limits, deadline, started("dead", 600)))
			s.awaitTold(v1.ConditionProgressing, v1.ReasonDeadline, "container web", "startup probe")
			if count := s.untouched(before); count != 1 {
				t.Errorf("%d pods serve as before, want 1", count)
				for _, p := range s.pods() {
					t.Logf("%s %v %s %+v", p.Name, p.Annotations, p.Spec.Containers[0].Image, p.Status.ContainerStatuses)
				}
			}
			s.apply(spec(2, limits, deadline, started("2", 600)))
			s.awaitReady(2)
			s.answers("2")
		})
	}
}

// prepared returns a spec with an init container.
func prepared(tag, spec string) string {
	return strings.Replace(spec, "containers: [", fmt.Sprintf("initContainers: [{name: prepare, image: 'local/web:%s'}], containers: [", tag), 1)
}

// A failing init container is reported by its name. It cannot be changed in place, so one pod is replaced. The other one is left alone, and the
// next revision fixes the failure.
func TestInitContainerFails(t *testing.T) {
	s := newSpace(t)
	s.apply(prepared("done", spec(2, inPlaceIfPossible, policy(v1.HaltOnFailure), web("1", ""))))
	s.awaitReady(2)
	s.awaitBaked()
	before := s.pods()
	s.apply(prepared("crash", spec(2, inPlaceIfPossible, policy(v1.HaltOnFailure), web("2", ""))))
	s.awaitTold(v1.ConditionReady, v1.ReasonHalted, "halted with 1 pod updated", "container prepare: ", "exit code 7")
	s.awaitTold(v1.ConditionStalled, v1.ReasonHalted, "container prepare: CrashLoopBackOff: Error, exit code 7")
	if count := s.untouched(before); count != 1 {
		t.Errorf("%d pods serve as before, want 1", count)
	}
	s.serving(1)
	s.apply(prepared("done", spec(2, inPlaceIfPossible, policy(v1.HaltOnFailure), web("3", ""))))
	s.awaitReady(2)
	s.answers("3")
}
