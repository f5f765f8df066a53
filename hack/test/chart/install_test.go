//go:build e2e

package chart

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// systemSpace is the namespace that the README recommends.
	systemSpace    = "podmanager-system"
	controllerName = "podmanager-controller"
	// withImage sets the image, which has no default. Later arguments override it.
	withImage = "--values=hack/test/chart/testdata/image.yaml"
	// repository is the image's repository in that file.
	repository = "registry.example.com/podmanager"
)

// helm runs Helm, and fails the test if it fails.
func helm(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := tryHelm(t, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryHelm(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), shared.helm, arguments...).CombinedOutput()
	if slices.Contains(arguments, "--wait") {
		t.Logf("helm %s took %v", arguments[0], time.Since(began).Round(time.Millisecond))
	}
	if err != nil {
		return string(out), fmt.Errorf("helm %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out), nil
}

// kubectl runs kubectl as the administrator, and fails the test if it fails.
func kubectl(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	out, err := shared.cluster.KubectlWith(t.Context(), input, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// newNamespace creates a namespace for a test.
func newNamespace(t *testing.T) string {
	t.Helper()
	return harness.NewSpace(t, shared.cluster).Name
}

// runDeployed starts the controller as its Deployment would.
func runDeployed(t *testing.T, namespace string) *lab.Process {
	t.Helper()
	return runDeployment(t, namespace, controllerName, "-leader-elect-resource-namespace", namespace)
}

// runDeployment starts the program as a Deployment would: with its arguments, and as its ServiceAccount. more has flags for values that the
// program would find out in a pod. They take precedence.
func runDeployment(t *testing.T, namespace, name string, more ...string) *lab.Process {
	t.Helper()
	deployment, err := shared.cluster.Kube.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := deployment.Spec.Template.Spec
	flags := []string{"-kubeconfig", accountConfig(t, namespace, spec.ServiceAccountName)}
	for _, argument := range spec.Containers[0].Args {
		if !strings.HasPrefix(argument, "-metrics-bind-address=") { // on this machine, any free port
			flags = append(flags, strings.ReplaceAll(argument, "$(POD_NAMESPACE)", namespace))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	process, err := shared.cluster.Start(ctx, namespace, append(flags, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Kill() })
	return process
}

// stop ends a process. A controller must release its Lease, so that the next one leads at once.
func stop(t *testing.T, process *lab.Process) {
	t.Helper()
	if err := process.Stop(); err != nil || process.Err != nil {
		t.Fatalf("the controller did not stop cleanly: %v, %v\n%s", err, process.Err, process.Tail(20))
	}
}

// readsMetrics requests the metrics of a controller with the token of a user who may not read them, and checks the status code.
func readsMetrics(t *testing.T, process *lab.Process, namespace string, want int) {
	t.Helper()
	token := strings.TrimSpace(kubectl(t, "", "create", "token", "default", "--namespace", namespace))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+process.Metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: harness.Patience}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		t.Errorf("metrics are answered with %s, want %d", response.Status, want)
	}
}

// accountConfig returns a kubeconfig of a ServiceAccount.
func accountConfig(t *testing.T, namespace, account string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(shared.cluster.OurKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos["account"].Token = strings.TrimSpace(kubectl(t, "", "create", "token", account, "--namespace", namespace))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// apply applies a PodManager whose revisions need no time to prove themselves.
func apply(t *testing.T, namespace, name, spec string) {
	t.Helper()
	kubectl(t, fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: %s}\nspec: {failurePolicy: {gracePeriodSeconds: 0}, %s}\n", name, spec),
		"apply", "--namespace", namespace, "-f", "-")
}

func manager(t *testing.T, namespace, name string) *v1.PodManager {
	t.Helper()
	manager, err := shared.cluster.Managers.AppsV1().PodManagers(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

// awaitReady waits until a PodManager is Ready with this many pods, none of which is terminating, and its rollout is complete. It returns the names,
// UIDs and versions of the PodManager and its pods.
func awaitReady(t *testing.T, namespace, name string, replicas int) string {
	t.Helper()
	harness.Await(t, fmt.Sprintf("%s to be Ready with %d pods", name, replicas), func() (any, bool) {
		manager := manager(t, namespace, name)
		status := manager.Status
		return status, status.ObservedGeneration == manager.Generation && meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) &&
			int(status.Replicas) == replicas && status.TerminatingReplicas == 0 && status.CurrentRevision == status.UpdateRevision
	})
	return versions(t, namespace, name)
}

// versions returns the names, UIDs and resourceVersions of a PodManager and its pods. If two results are equal, no client has written any of these
// objects in between.
func versions(t *testing.T, namespace, name string) string {
	t.Helper()
	pods, err := shared.cluster.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "podmanager=" + name})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, pod := range pods.Items {
		all = append(all, fmt.Sprintf("%s %s %s", pod.Name, pod.UID, pod.ResourceVersion))
	}
	slices.Sort(all)
	manager := manager(t, namespace, name)
	return fmt.Sprintf("%s %s %s\n%s", name, manager.UID, manager.ResourceVersion, strings.Join(all, "\n"))
}

// logged returns the lines of a controller's log that contain one of these texts.
func logged(t *testing.T, process *lab.Process, texts ...string) []string {
	t.Helper()
	data, err := os.ReadFile(process.Log)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			found = append(found, line)
		}
	}
	return found
}
