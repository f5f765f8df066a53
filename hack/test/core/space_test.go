//go:build e2e

package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// patience is how long a test waits for something that takes a second on an idle machine.
const patience = harness.Patience

// space is a test's namespace.
type space struct {
	t    *testing.T
	ctx  context.Context
	name string
	// cluster is the shared cluster, or that of the test.
	cluster *lab.Cluster
}

// newSpace creates a namespace for a test that runs in parallel with others.
func newSpace(t *testing.T) *space {
	t.Helper()
	t.Parallel()
	return newSerialSpace(t)
}

// newSerialSpace creates a namespace for a test that does not run in parallel with others.
func newSerialSpace(t *testing.T) *space {
	t.Helper()
	s := &space{t: t, ctx: t.Context(), name: harness.NewNamespace(t, shared.cluster, "e2e-"), cluster: shared.cluster}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("objects in %s:\n%s", s.name, s.dump())
		}
		s.forgetPrivate()
	})
	return s
}

// forgetPrivate removes the finalizers of PodManagers whose controller has ended with the test: otherwise the namespace would stay, and the
// controller manager would try to delete it for ever, at the cost of the other tests.
func (s *space) forgetPrivate() {
	client := shared.managers.AppsV1().PodManagers(s.name)
	list, err := client.List(context.Background(), metav1.ListOptions{LabelSelector: privateLabel})
	if err != nil {
		return
	}
	for _, manager := range list.Items {
		_, _ = client.Patch(context.Background(), manager.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
}

// dump prints the objects of the namespace that explain a failure: of long lists only the end, so that the failure itself is not lost.
func (s *space) dump() string {
	ctx := context.Background() // the test has ended
	seen := &strings.Builder{}
	for _, get := range [][]string{
		{"pm", "-o", "yaml"},
		{"pods", "-o", "wide"},
		{"events", "--field-selector", "reason!=Scheduled", "--sort-by", "lastTimestamp"},
	} {
		out, _ := s.cluster.Kubectl(ctx, append([]string{"--namespace", s.name, "get"}, get...)...)
		lines := strings.SplitAfter(out, "\n")
		if more := len(lines) - mostDumped; more > 0 {
			fmt.Fprintf(seen, "... %d lines of %s, and then\n", more, get[0])
			lines = lines[more:]
		}
		seen.WriteString(strings.Join(lines, ""))
	}
	return seen.String()
}

// mostDumped is how many lines of a list are printed.
const mostDumped = 80

// kubectl runs kubectl in the namespace and fails the test if it fails.
func (s *space) kubectl(arguments ...string) string {
	s.t.Helper()
	out, err := s.try("", arguments...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// try runs kubectl with an input, and returns its output. An error contains the output, too.
func (s *space) try(input string, arguments ...string) (string, error) {
	return s.cluster.KubectlWith(s.ctx, input, append([]string{"--namespace", s.name}, arguments...)...)
}

// apply applies a PodManager of the given name and spec, in YAML's flow style.
func (s *space) apply(name, spec string) {
	s.t.Helper()
	if _, err := s.try(manifest(name, "", hasty(spec)), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
}

// applyPrivate applies a PodManager that only the test's own controller serves.
func (s *space) applyPrivate(name, spec string) {
	s.t.Helper()
	if _, err := s.try(manifest(name, "labels: {"+privateLabel+": ''}", hasty(spec)), "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
}

// hasty makes a revision current as soon as its pods are available, unless the spec has a failure policy: by default they have to stay
// available for half a minute, which few tests are about.
func hasty(spec string) string {
	if strings.Contains(spec, "failurePolicy") {
		return spec
	}
	return strings.Replace(spec, "{", "{failurePolicy: {gracePeriodSeconds: 0}, ", 1)
}

func manifest(name, metadata, spec string) string {
	return fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: %s, %s}\nspec: %s\n", name, metadata, spec)
}

// await repeats a check until it holds. If it does not hold in time, the test fails with what was last seen.
func (s *space) await(what string, check func() (seen any, ok bool)) {
	s.t.Helper()
	s.awaitFor(patience, what, check)
}

func (s *space) awaitFor(limit time.Duration, what string, check func() (seen any, ok bool)) {
	s.t.Helper()
	harness.AwaitFor(s.t, limit, what, check)
}

// manager reads a PodManager.
func (s *space) manager(name string) *v1.PodManager {
	s.t.Helper()
	manager, err := shared.managers.AppsV1().PodManagers(s.name).Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return manager
}

// pods reads the active pods of the namespace: neither terminating nor finished.
func (s *space) pods() []corev1.Pod {
	s.t.Helper()
	return slices.DeleteFunc(s.allPods(), func(pod corev1.Pod) bool { return !isActive(&pod) })
}

func (s *space) allPods() []corev1.Pod {
	s.t.Helper()
	list, err := shared.kube.CoreV1().Pods(s.name).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

func podNames(pods []corev1.Pod) []string {
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// awaitReady waits until the PodManager is Ready with this many pods and its whole status is true.
func (s *space) awaitReady(name string, replicas int) *v1.PodManager {
	s.t.Helper()
	var manager *v1.PodManager
	s.await(fmt.Sprintf("%s to be Ready with %d pods", name, replicas), func() (any, bool) {
		manager = s.manager(name)
		if !isReady(manager) || int(manager.Status.Replicas) != replicas || manager.Status.TerminatingReplicas != 0 {
			return brief(manager), false
		}
		untruth := s.untruth(manager)
		return untruth + "\n" + brief(manager), untruth == ""
	})
	return manager
}

func isReady(manager *v1.PodManager) bool {
	return manager.Status.ObservedGeneration == manager.Generation && meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady)
}

// untruth is what a status says and the pods contradict; empty if the status is true.
func (s *space) untruth(manager *v1.PodManager) string {
	s.t.Helper()
	var own []corev1.Pod
	for _, pod := range s.pods() {
		if metav1.IsControlledBy(&pod, manager) {
			own = append(own, pod)
		}
	}
	status, count := manager.Status, int32(len(own))
	if status.Replicas != count || status.ReadyReplicas != count || status.AvailableReplicas != count || status.UpdatedReplicas != count {
		return fmt.Sprintf("there are %d pods", count)
	}
	names := slices.Clone(status.PodNames)
	slices.Sort(names)
	if count <= 100 && !slices.Equal(names, podNames(own)) {
		return fmt.Sprintf("status names pods %v, there are %v", names, podNames(own))
	}
	for _, condition := range status.Conditions {
		if condition.ObservedGeneration != manager.Generation {
			return fmt.Sprintf("condition %s is of generation %d", condition.Type, condition.ObservedGeneration)
		}
	}
	return ""
}

// brief is a PodManager in one line, for messages.
func brief(manager *v1.PodManager) string {
	status := manager.Status
	status.PodNames = nil
	data, _ := json.Marshal(status)
	return fmt.Sprintf("generation %d, status %s", manager.Generation, data)
}

// condition is a condition of a PodManager; empty if it has none of the type.
func (s *space) condition(name, kind string) metav1.Condition {
	s.t.Helper()
	if found := meta.FindStatusCondition(s.manager(name).Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// setPodStatus changes a pod's status as a kubelet would.
func (s *space) setPodStatus(name, status string) {
	s.t.Helper()
	_, err := shared.kube.CoreV1().Pods(s.name).Patch(s.ctx, name, types.StrategicMergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	if err != nil {
		s.t.Fatal(err)
	}
}

// uids are the UIDs of pods by name.
func uids(pods []corev1.Pod) map[string]types.UID {
	byName := map[string]types.UID{}
	for _, pod := range pods {
		byName[pod.Name] = pod.UID
	}
	return byName
}
