//go:build e2e

package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// nodeFile returns the path of a file in the folder of the real node, which has its programs, their configuration and their logs.
func (s *space) nodeFile(name string) string {
	s.T.Helper()
	folder := os.Getenv("PODMANAGER_NODE")
	if folder == "" {
		s.T.Fatal("PODMANAGER_NODE must name the folder of the real node; make e2e-node sees to that")
	}
	return filepath.Join(folder, name)
}

// kubelet returns the PID of the real node's kubelet; 0 if it does not run.
func (s *space) kubelet() int {
	s.T.Helper()
	words := "kubelet\x00--config\x00" + s.nodeFile("kubelet.yaml") + "\x00"
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.T.Fatal(err)
	}
	for _, file := range files {
		// A process may end before its file is read.
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), words) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}

// killKubelet kills the kubelet, and waits until it has ended. The supervisor restarts it, unless it is held back.
func (s *space) killKubelet() {
	s.T.Helper()
	pid := s.kubelet()
	if pid == 0 {
		s.T.Fatal("the kubelet does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.T.Fatal(err)
	}
	s.Await("the kubelet to end", func() (any, bool) {
		found := s.kubelet()
		return found, found != pid
	})
}

// holdKubelet kills the kubelet, and keeps it from being restarted until release is called, which then waits for the node.
func (s *space) holdKubelet() (release func()) {
	s.T.Helper()
	hold := s.nodeFile("kubelet.hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		s.T.Fatal(err)
	}
	release = func() {
		_ = os.Remove(hold)
		s.awaitNode("the node to be ready", func(node *corev1.Node) bool { return nodeCondition(node, corev1.NodeReady) == corev1.ConditionTrue })
	}
	s.T.Cleanup(release)
	s.killKubelet()
	return release
}

// reconfigureKubelet restarts the kubelet with another setting, until restore is called.
func (s *space) reconfigureKubelet(from, to string) (restore func()) {
	s.T.Helper()
	path := s.nodeFile("kubelet.yaml")
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), from) {
		s.T.Fatalf("%s is not in %s: %v", from, path, err)
	}
	start := func(config string) {
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			s.T.Fatal(err)
		}
		s.killKubelet()
	}
	restore = sync.OnceFunc(func() { start(string(data)) })
	s.T.Cleanup(restore)
	start(strings.Replace(string(data), from, to, 1))
	return restore
}

// awaitNode waits until the real node satisfies a condition.
func (s *space) awaitNode(what string, check func(*corev1.Node) bool) {
	s.T.Helper()
	s.Await(what, func() (any, bool) {
		// awaitNode is called after the test, too, when the test's context has ended.
		node, err := shared.kube.CoreV1().Nodes().Get(context.Background(), realNode, metav1.GetOptions{})
		if err != nil {
			return err, false
		}
		return node.Status.Conditions, check(node)
	})
}

func nodeCondition(node *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}

// ctr runs containerd's client on the node's containers.
func (s *space) ctr(words ...string) string {
	s.T.Helper()
	out, err := exec.CommandContext(s.T.Context(), "ctr",
		append([]string{"--address", s.nodeFile("containerd.sock"), "--namespace", "k8s.io"}, words...)...).CombinedOutput()
	if err != nil {
		s.T.Fatalf("ctr %v: %v\n%s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// with adds fields to the pods of a spec.
func with(fields, spec string) string {
	return strings.Replace(spec, "nodeSelector: {type: real}", "nodeSelector: {type: real}"+fields, 1)
}

// try updates two of three pods to version 2, and leaves one at version 1. In this state the new revision is under observation: if one of its pods
// fails and does not recover within 2 s, all pods return to version 1.
func (s *space) try(podFields, containerFields string) []corev1.Pod {
	s.T.Helper()
	s.apply(with(podFields, spec(3, replacing, "", web("1", containerFields))))
	s.awaitReady(3)
	s.awaitBaked()
	s.apply(with(podFields, spec(3, replacing+", partition: 1", policy(v1.RollbackOnFailure), web("2", containerFields))))
	s.awaitReady(2)
	if manager := s.manager(); manager.Status.CurrentRevision == manager.Status.UpdateRevision || manager.Status.Rollout == nil {
		s.T.Fatalf("the new revision has proved itself already: %s", harness.Brief(manager))
	}
	return s.pods()
}

// triedOn waits until two pods have version 2 again, and one has version 1. It checks that the lost pods are replaced, and that version 2 is not
// blamed.
func (s *space) triedOn(lost ...corev1.Pod) {
	s.T.Helper()
	s.Await("the lost pods to be replaced, and the status to list the others", func() (any, bool) {
		manager, names := s.manager(), []string{}
		for _, pod := range s.active() {
			names = append(names, pod.Name)
		}
		told := slices.Sorted(slices.Values(manager.Status.PodNames)) // web-10 comes after web-9 in the status, and before it here
		return fmt.Sprintf("pods %v, %s", names, harness.Brief(manager)), len(s.left(lost)) == 0 && slices.Equal(slices.Sorted(slices.Values(names)), told) &&
			manager.Status.UpdatedReplicas == 2 && harness.ConditionOf(manager, v1.ConditionReady).Status == metav1.ConditionTrue
	})
	manager := s.manager()
	if manager.Status.FailedRevision != "" || manager.Status.Rollout == nil || len(manager.Status.Rollout.Failing) > 0 {
		s.T.Errorf("the new revision is blamed for what was done to its pods: %s", harness.Brief(manager))
	}
	versions := map[string]int{}
	for _, pod := range s.active() {
		versions[s.ask(&pod, 8080).Version]++
	}
	if !maps.Equal(versions, map[string]int{"1": 1, "2": 2}) {
		s.T.Errorf("the numbers of pods that answer with each version are %v; want one with 1 and two with 2", versions)
	}
}

// updated returns one of the pods that have version 2.
func updated(pods []corev1.Pod) *corev1.Pod {
	i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image == "local/web:2" })
	return &pods[i]
}

// active returns the pods that are neither terminating nor finished.
func (s *space) active() []corev1.Pod {
	s.T.Helper()
	return slices.DeleteFunc(s.pods(), func(pod corev1.Pod) bool { return podstate.IsFinished(&pod) })
}

// left returns the previous pods that are still active.
func (s *space) left(before []corev1.Pod) []corev1.Pod {
	s.T.Helper()
	return slices.DeleteFunc(s.active(), func(pod corev1.Pod) bool {
		return !slices.ContainsFunc(before, func(was corev1.Pod) bool { return was.UID == pod.UID })
	})
}

// awaitDisruption waits for the event about a pod that its node has stopped.
func (s *space) awaitDisruption(pod *corev1.Pod, why ...string) {
	s.T.Helper()
	s.Await("the event "+v1.EventDisrupted, func() (any, bool) {
		list, err := shared.kube.EventsV1().Events(s.Name).List(s.T.Context(), metav1.ListOptions{FieldSelector: "reason=" + v1.EventDisrupted})
		if err != nil {
			return err, false
		}
		var notes []string
		for _, event := range list.Items {
			notes = append(notes, event.Note)
		}
		// If several pods were replaced at once, the event names all of them, with the reason of the first.
		return notes, slices.ContainsFunc(notes, func(note string) bool {
			isTold := func(why string) bool { return strings.Contains(note, "was disrupted: "+why) }
			return strings.Contains(note, pod.Name) && slices.ContainsFunc(why, isTold)
		})
	})
}
