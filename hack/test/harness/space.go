package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Space is a test's namespace. Suites embed it and add helpers for their subject.
type Space struct {
	T       *testing.T
	Ctx     context.Context
	Name    string
	Cluster *lab.Cluster
}

// spaceLabel marks the namespaces of tests.
const spaceLabel = "e2e.mycompany.com/space"

// NewSpace creates a namespace, and empties it when the test is over. If the test has failed, it logs the objects that explain the failure. The
// namespace stays until the cluster is gone, because deleting one takes the control plane two requests for each of sixty resources.
func NewSpace(t *testing.T, cluster *lab.Cluster) *Space {
	t.Helper()
	client := cluster.Kube.CoreV1().Namespaces()
	created, err := client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{spaceLabel: ""}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Space{T: t, Ctx: t.Context(), Name: created.Name, Cluster: cluster}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("objects in %s:\n%s", s.Name, s.Dump())
		}
		s.empty()
	})
	return s
}

// empty deletes the pods, and all objects that would create more.
func (s *Space) empty() {
	ctx, gone, all := context.Background(), metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}, metav1.ListOptions{}
	_ = s.Cluster.Managers.AppsV1().PodManagers(s.Name).DeleteCollection(ctx, gone, all)
	_ = s.Cluster.Kube.AppsV1().Deployments(s.Name).DeleteCollection(ctx, gone, all)
	_ = s.Cluster.Kube.AppsV1().StatefulSets(s.Name).DeleteCollection(ctx, gone, all)
	_ = s.Cluster.Kube.AppsV1().ReplicaSets(s.Name).DeleteCollection(ctx, gone, all)
	_ = s.Cluster.Kube.CoreV1().Pods(s.Name).DeleteCollection(ctx, gone, all)
}

// deleteSpaces deletes the namespaces that an earlier run has left in a cluster that was kept.
func deleteSpaces(ctx context.Context, cluster *lab.Cluster) error {
	_, err := cluster.Kubectl(ctx, "delete", "namespaces", "--selector", spaceLabel, "--ignore-not-found", "--wait=false")
	return err
}

// With returns the space for a subtest.
func (s *Space) With(t *testing.T) *Space {
	return &Space{T: t, Ctx: t.Context(), Name: s.Name, Cluster: s.Cluster}
}

// mostDumped is the maximum number of lines of a list that Dump prints.
const mostDumped = 80

// Dump returns the objects of the namespace that explain a failure. It truncates the start of a long list, so that the failure itself is not lost.
func (s *Space) Dump() string {
	ctx := context.Background() // the test has ended
	seen := &strings.Builder{}
	for _, get := range [][]string{
		{"podmanagers.v1.apps.mycompany.com", "-o", "yaml"},
		{"pods,controllerrevisions", "-o", "wide", "--show-labels"},
		{"events", "--field-selector", "reason!=Scheduled", "--sort-by", "lastTimestamp"},
	} {
		out, _ := s.Cluster.Kubectl(ctx, append([]string{"--namespace", s.Name, "get"}, get...)...)
		lines := strings.SplitAfter(out, "\n")
		if more := len(lines) - mostDumped; more > 0 {
			fmt.Fprintf(seen, "... %d lines of %s, and then\n", more, get[0])
			lines = lines[more:]
		}
		seen.WriteString(strings.Join(lines, ""))
	}
	return seen.String()
}

// Kubectl runs kubectl in the namespace as the administrator. It fails the test on an error.
func (s *Space) Kubectl(arguments ...string) string {
	s.T.Helper()
	out, err := s.TryKubectl("", arguments...)
	if err != nil {
		s.T.Fatal(err)
	}
	return out
}

// TryKubectl runs kubectl with an input, and returns its output. An error contains the output, too.
func (s *Space) TryKubectl(input string, arguments ...string) (string, error) {
	return s.Cluster.KubectlWith(s.Ctx, input, append([]string{"--namespace", s.Name}, arguments...)...)
}

// Apply applies any manifest.
func (s *Space) Apply(manifest string) {
	s.T.Helper()
	if _, err := s.TryKubectl(manifest, "apply", "-f", "-"); err != nil {
		s.T.Fatalf("%v\n%s", err, manifest)
	}
}

// ApplyManager applies a PodManager as kubectl apply --server-side does, without the time it takes to start kubectl.
func (s *Space) ApplyManager(name, metadata, spec string) {
	s.T.Helper()
	err := s.Cluster.Managers.AppsV1().RESTClient().Patch(types.ApplyYAMLPatchType).Namespace(s.Name).Resource("podmanagers").Name(name).
		Param("fieldManager", "e2e").Param("force", "true").Param("fieldValidation", metav1.FieldValidationStrict).
		Body([]byte(Manifest(name, metadata, spec))).Do(s.Ctx).Error()
	if err != nil {
		s.T.Fatalf("%v\n%s", err, spec)
	}
}

// DryRun creates a PodManager as a dry run, and returns the API server's message if it refuses. Nothing is stored.
func (s *Space) DryRun(manifest string) (refusal string, err error) {
	err = s.Cluster.Managers.AppsV1().RESTClient().Post().Namespace(s.Name).Resource("podmanagers").
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).SetHeader("Content-Type", "application/yaml").
		Body([]byte(manifest)).Do(s.Ctx).Error()
	if err != nil {
		return err.Error(), err
	}
	return "", nil
}

// Manifest returns a PodManager with a spec in YAML's flow style. metadata is additional metadata in the same style, such as labels.
func Manifest(name, metadata, spec string) string {
	return fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: %s, %s}\nspec: %s\n", name, metadata, spec)
}

// Await calls harness.Await for the test of this space.
func (s *Space) Await(what string, check func() (seen any, ok bool)) {
	s.T.Helper()
	Await(s.T, what, check)
}

// AwaitFor calls harness.AwaitFor for the test of this space.
func (s *Space) AwaitFor(limit time.Duration, what string, check func() (seen any, ok bool)) {
	s.T.Helper()
	AwaitFor(s.T, limit, what, check)
}

// Manager reads a PodManager.
func (s *Space) Manager(name string) *v1.PodManager {
	s.T.Helper()
	manager, err := s.Cluster.Managers.AppsV1().PodManagers(s.Name).Get(s.Ctx, name, metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return manager
}

// Condition returns a condition of a PodManager; an empty one if it has none of the type.
func (s *Space) Condition(name, kind string) metav1.Condition {
	s.T.Helper()
	return ConditionOf(s.Manager(name), kind)
}

// ConditionOf returns a condition; an empty one if the PodManager has none of the type.
func ConditionOf(manager *v1.PodManager, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(manager.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// IsReady reports whether the PodManager is Ready with its current spec.
func IsReady(manager *v1.PodManager) bool {
	return manager.Status.ObservedGeneration == manager.Generation && meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady)
}

// Brief returns a PodManager's status in one line, for messages.
func Brief(manager *v1.PodManager) string {
	status := manager.Status
	status.PodNames = nil
	data, _ := json.Marshal(status)
	return fmt.Sprintf("generation %d, status %s", manager.Generation, data)
}

// AllPods returns all pods of the namespace.
func (s *Space) AllPods() []corev1.Pod {
	s.T.Helper()
	list, err := s.Cluster.Kube.CoreV1().Pods(s.Name).List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return list.Items
}

// Pods returns the active pods of the namespace: neither terminating nor finished.
func (s *Space) Pods() []corev1.Pod {
	s.T.Helper()
	return slices.DeleteFunc(s.AllPods(), func(pod corev1.Pod) bool { return !IsActive(&pod) })
}

// IsActive reports whether a pod is neither terminating nor finished.
func IsActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// SeparateClient returns a client with a separate connection. By default client-go shares the connections of other clients.
func SeparateClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.Dial = (&net.Dialer{}).DialContext
	return kubernetes.NewForConfig(config)
}
