//go:build e2e

package node

import (
	"fmt"
	"slices"
	"testing"
)

const (
	keep    = "NotRequired"
	restart = "RestartContainer"
)

// size is the limits of a container: CPU in millicores, memory in MiB.
type size struct{ cpu, memory int }

// limited returns a container with limits, which are also its requests.
func limited(tag string, is size, cpuPolicy, memoryPolicy string) string {
	return withRequest(is.cpu, tag, is, cpuPolicy, memoryPolicy)
}

// modest returns a container that requests a tenth of the CPU, so that the node always has room for concurrent tests and defers no resize.
func modest(tag string, is size, cpuPolicy, memoryPolicy string) string {
	return withRequest(is.cpu/10, tag, is, cpuPolicy, memoryPolicy)
}

// withRequest returns a container with limits, a request for CPU, and resize policies; no policies if the first is empty.
func withRequest(cpu int, tag string, is size, cpuPolicy, memoryPolicy string) string {
	policies := ""
	if cpuPolicy != "" {
		policies = fmt.Sprintf(", resizePolicy: [{resourceName: cpu, restartPolicy: %s}, {resourceName: memory, restartPolicy: %s}]", cpuPolicy, memoryPolicy)
	}
	return web(tag, fmt.Sprintf(", resources: {requests: {cpu: %dm}, limits: {cpu: %dm, memory: %dMi}}%s", cpu, is.cpu, is.memory, policies))
}

// has checks the limits that the kernel applies to every pod.
func (s *space) has(is size) {
	s.T.Helper()
	for _, pod := range s.pods() {
		said := s.ask(&pod, 8080)
		if cpu := fmt.Sprintf("%d 100000", is.cpu*100); said.CPU != cpu {
			s.T.Errorf("%s may use the processor %q, want %q", pod.Name, said.CPU, cpu)
		}
		if memory := fmt.Sprint(is.memory << 20); said.Memory != memory {
			s.T.Errorf("%s may have %s bytes of memory, want %s", pod.Name, said.Memory, memory)
		}
	}
}

// A resize changes CPU, memory, or both in running containers. The steps follow one another in the same pods. Containers are restarted only if the
// policy of a changed resource requires it. For a decrease, the kubelet resizes the containers before the pod, but that does not change which of
// them restart. After a restart for CPU the kubelet may not know for minutes how much memory the new container uses, and does not decrease it until
// then.
func TestResize(t *testing.T) {
	t.Parallel()
	from := size{100, 64}
	all := [][2]string{{"", ""}, {keep, keep}, {keep, restart}, {restart, keep}, {restart, restart}}
	some := [][2]string{{"", ""}, {restart, restart}}
	steps := []struct {
		what     string
		to       size
		policies [][2]string
	}{
		{"CPU", size{200, 64}, all}, {"memory", size{200, 96}, all}, {"both", size{300, 128}, all},
		{"less CPU", size{200, 128}, some}, {"less memory", size{200, 96}, some},
	}
	for _, policy := range all {
		t.Run(fmt.Sprintf("cpu %s, memory %s", policy[0], policy[1]), func(t *testing.T) {
			s := newSpace(t)
			s.apply(spec(2, inPlace, "", modest("1", from, policy[0], policy[1])))
			s.awaitReady(2)
			s.has(from)
			was := from
			for _, step := range steps {
				if !slices.Contains(step.policies, policy) {
					continue
				}
				restarts := int32(0)
				if step.to.cpu != was.cpu && policy[0] == restart || step.to.memory != was.memory && policy[1] == restart {
					restarts = 1
				}
				t.Run(step.what, func(t *testing.T) { s.in(t).isResized(modest("1", step.to, policy[0], policy[1]), step.to, restarts) })
				was = step.to
			}
		})
	}
}

// isResized applies another size to pods, and checks that they have it.
func (s *space) isResized(container string, to size, restarts int32) {
	s.T.Helper()
	before := s.pods()
	s.apply(spec(2, inPlace, "", container))
	s.T.Logf("took %v", s.awaitReady(2))
	s.stayed(before, s.pods(), restarts)
	s.has(to)
}

// An image and the limits change at once: the pod is resized before its container gets the other image. If the resize restarts the container, the
// image restarts it a second time.
func TestResizeWithImage(t *testing.T) {
	t.Parallel()
	from := size{100, 64}
	for what, test := range map[string]struct {
		to       size
		policy   string
		restarts int32
	}{
		"more":              {to: size{200, 96}, restarts: 1},
		"less":              {to: size{50, 48}, restarts: 1},
		"more, restarting":  {to: size{200, 96}, policy: restart, restarts: 2},
		"more CPU and less": {to: size{200, 48}, policy: keep, restarts: 1},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSpace(t)
			// On a busy machine a kubelet was seen to report a pod as ready after two restarts in a row, and as unready 0.3 s later.
			steady := "failurePolicy: {gracePeriodSeconds: 0}, minReadySeconds: 2"
			s.apply(spec(2, inPlace, steady, modest("1", from, test.policy, test.policy)))
			s.awaitReady(2)
			before := s.pods()
			witness := s.limits(1, 2)
			s.apply(spec(2, inPlace, steady, modest("2", test.to, test.policy, test.policy)))
			s.awaitReady(2)
			witness.held()
			s.stayed(before, s.pods(), test.restarts)
			s.answers("2")
			s.has(test.to)
		})
	}
}
