//go:build e2e

package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// space is a test's namespace. Either the shared controller or the test's own controller serves its PodManagers.
type space struct {
	*harness.Space
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
	s := &space{harness.NewSpace(t, shared.cluster)}
	t.Cleanup(s.forgetPrivate)
	return s
}

// forgetPrivate removes the finalizers of PodManagers whose controller has ended with the test. Otherwise the namespace would remain, and the
// controller manager would try to delete it forever, at the expense of the other tests.
func (s *space) forgetPrivate() {
	client := shared.managers.AppsV1().PodManagers(s.Name)
	list, err := client.List(context.Background(), metav1.ListOptions{LabelSelector: privateLabel})
	if err != nil {
		return
	}
	for _, manager := range list.Items {
		_, _ = client.Patch(context.Background(), manager.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
}

// apply applies a PodManager with the given name and spec, in YAML's flow style.
func (s *space) apply(name, spec string) {
	s.T.Helper()
	s.ApplyManager(name, "", hasty(spec))
}

// applyPrivate applies a PodManager that only the test's own controller serves.
func (s *space) applyPrivate(name, spec string) {
	s.T.Helper()
	s.ApplyManager(name, "labels: {"+privateLabel+": ''}", hasty(spec))
}

// hasty makes a revision current as soon as its pods are available, unless the spec has a failure policy. By default the pods have to stay
// available for half a minute, which few tests are about.
func hasty(spec string) string {
	if strings.Contains(spec, "failurePolicy") {
		return spec
	}
	return strings.Replace(spec, "{", "{failurePolicy: {gracePeriodSeconds: 0}, ", 1)
}

func podNames(pods []corev1.Pod) []string {
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// awaitReady waits until the PodManager is Ready with this many pods, and its whole status is true.
func (s *space) awaitReady(name string, replicas int) *v1.PodManager {
	s.T.Helper()
	var manager *v1.PodManager
	s.Await(fmt.Sprintf("%s to be Ready with %d pods", name, replicas), func() (any, bool) {
		manager = s.Manager(name)
		if !harness.IsReady(manager) || int(manager.Status.Replicas) != replicas || manager.Status.TerminatingReplicas != 0 {
			return harness.Brief(manager), false
		}
		untruth := s.untruth(manager)
		return untruth + "\n" + harness.Brief(manager), untruth == ""
	})
	return manager
}

// untruth returns a statement of the status that the pods contradict; empty if the status is true.
func (s *space) untruth(manager *v1.PodManager) string {
	s.T.Helper()
	var own []corev1.Pod
	for _, pod := range s.Pods() {
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

// setPodStatus changes a pod's status as a kubelet would.
func (s *space) setPodStatus(name, status string) {
	s.T.Helper()
	_, err := shared.kube.CoreV1().Pods(s.Name).Patch(s.Ctx, name, types.StrategicMergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	if err != nil {
		s.T.Fatal(err)
	}
}

// uids returns the UIDs of pods by name.
func uids(pods []corev1.Pod) map[string]types.UID {
	byName := map[string]types.UID{}
	for _, pod := range pods {
		byName[pod.Name] = pod.UID
	}
	return byName
}
