//go:build e2e

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// patience is how long to wait for what should take seconds, on a slow machine with other things to do.
const patience = 3 * time.Minute

// space is a test's namespace.
type space struct {
	t    *testing.T
	name string
}

// newSpace makes a namespace for a test that runs beside others.
func newSpace(t *testing.T) *space {
	t.Helper()
	t.Parallel()
	return newSpaceAlone(t)
}

// newSpaceAlone makes a namespace for a test that runs alone, before all that run beside others: it does something to the whole node, or
// to the controller.
func newSpaceAlone(t *testing.T) *space {
	t.Helper()
	namespace, err := shared.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &space{t: t, name: namespace.Name}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("kubectl", "--namespace", s.name, "get", "pm,pods,events", "-o", "wide").CombinedOutput()
			t.Logf("what is in %s:\n%s", s.name, out)
		}
		s.empty()
	})
	return s
}

// empty makes room for the pods of others. The namespace stays, until the cluster goes: to delete one takes two requests for each of sixty
// kinds of objects.
func (s *space) empty() {
	ctx, background := context.Background(), metav1.DeletePropagationBackground
	_ = shared.managers.AppsV1().PodManagers(s.name).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	_ = shared.kube.CoreV1().Pods(s.name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// in is the same namespace for a part of a test.
func (s *space) in(t *testing.T) *space { return &space{t: t, name: s.name} }

// apply applies a PodManager of the name web, without kubectl, which reads all schemas of the API server each time.
func (s *space) apply(spec string) {
	s.t.Helper()
	manifest, err := yaml.YAMLToJSON([]byte(fmt.Sprintf("{apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {name: web}, spec: %s}", spec)))
	if err == nil {
		_, err = shared.managers.AppsV1().PodManagers(s.name).Patch(s.t.Context(), "web", types.ApplyPatchType, manifest,
			metav1.PatchOptions{FieldManager: "e2e-node", Force: new(true)})
	}
	if err != nil {
		s.t.Fatalf("%v\n%s", err, spec)
	}
}

// create applies any manifest.
func (s *space) create(manifest string) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "kubectl", "--namespace", s.name, "apply", "-f", "-")
	command.Stdin = strings.NewReader(manifest)
	if out, err := command.CombinedOutput(); err != nil {
		s.t.Fatalf("kubectl apply: %v\n%s\n%s", err, out, manifest)
	}
}

// pause is between two looks. Many tests wait beside each other, and on two processors looking is a good part of the work.
const pause = 200 * time.Millisecond

// await repeats a check until it holds, and prints what was last seen if it never does.
func (s *space) await(what string, check func() (seen any, ok bool)) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		seen, ok := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %v for %s; last seen: %+v", patience, what, seen)
		}
	}
}

func (s *space) manager() *v1.PodManager {
	s.t.Helper()
	manager, err := shared.managers.AppsV1().PodManagers(s.name).Get(s.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return manager
}

// awaitReady waits until the PodManager is Ready, and tells how long that took.
func (s *space) awaitReady(replicas int) time.Duration {
	s.t.Helper()
	began := time.Now()
	s.await(fmt.Sprintf("web to be Ready with %d pods", replicas), func() (any, bool) {
		manager := s.manager()
		return brief(manager), manager.Status.ObservedGeneration == manager.Generation && int(manager.Status.UpdatedReplicas) == replicas &&
			meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady)
	})
	return time.Since(began)
}

// awaitReason waits until a condition has the reason, and returns its message.
func (s *space) awaitReason(kind, reason string) string {
	s.t.Helper()
	message := ""
	s.await("the reason "+reason+" of "+kind, func() (any, bool) {
		manager := s.manager()
		found := meta.FindStatusCondition(manager.Status.Conditions, kind)
		if found != nil {
			message = found.Message
		}
		return brief(manager), found != nil && found.Reason == reason && manager.Status.ObservedGeneration == manager.Generation
	})
	return message
}

// condition is one of the PodManager's; empty if it has none of the kind.
func condition(manager *v1.PodManager, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(manager.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func brief(manager *v1.PodManager) string {
	status := manager.Status
	status.PodNames = nil
	data, _ := json.Marshal(status)
	return fmt.Sprintf("generation %d, status %s", manager.Generation, data)
}

// pods are those that are not terminating, by name.
func (s *space) pods() []corev1.Pod {
	s.t.Helper()
	list, err := shared.kube.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// answer is what the web server in a pod says of itself.
type answer struct {
	Version, CPU, Memory string
	Env                  map[string]string
}

// ask asks the web server of a pod on a port.
func (s *space) ask(pod *corev1.Pod, port int) answer {
	s.t.Helper()
	var said answer
	// The addresses of pods on simulated nodes are made up: somebody else may have them.
	if pod.Spec.NodeName != realNode {
		s.t.Fatalf("%s is on %q, which is no real node", pod.Name, pod.Spec.NodeName)
	}
	response, err := client.Get(fmt.Sprintf("http://%s:%d/", pod.Status.PodIP, port))
	if err != nil {
		s.t.Errorf("%s does not answer: %v", pod.Name, err)
		return said
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		s.t.Errorf("%s answers what is not JSON: %v", pod.Name, err)
	}
	return said
}

// stayed checks that the pods are those of before, at their addresses, and how often each container was restarted.
func (s *space) stayed(before, after []corev1.Pod, restarts ...int32) {
	s.t.Helper()
	if len(before) != len(after) {
		s.t.Fatalf("there were %d pods, there are %d", len(before), len(after))
	}
	for i, pod := range after {
		was := before[i]
		if pod.Name != was.Name || pod.UID != was.UID || pod.Status.PodIP != was.Status.PodIP {
			s.t.Errorf("%s was %s at %s, is %s at %s", pod.Name, was.UID, was.Status.PodIP, pod.UID, pod.Status.PodIP)
		}
		for j, status := range pod.Status.ContainerStatuses {
			if more := status.RestartCount - was.Status.ContainerStatuses[j].RestartCount; more != restarts[j] {
				s.t.Errorf("%s: container %s was restarted %d times, want %d", pod.Name, status.Name, more, restarts[j])
			}
		}
	}
}
