//go:build e2e

package node

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

const (
	deploymentName = "podmanager-controller"
	leaseName      = "podmanager-controller"
	metricsPort    = 8443
	healthPort     = 8081
	// scraper is the ServiceAccount that may read the metrics.
	scraper = "scraper"
)

// deployment is the controller on the node, as artifacts/ define it.
type deployment struct{ *space }

// deploy installs the Deployment in place of the controller that all tests share, until the test is over.
func deploy(t *testing.T, image image) *deployment {
	t.Helper()
	withoutController(t)
	d := &deployment{&space{&harness.Space{T: t, Ctx: t.Context(), Name: systemSpace, Cluster: shared.cluster}}}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("kubectl", "--namespace", systemSpace, "get", "pods,leases,events", "-o", "wide").CombinedOutput()
			t.Logf("what is in %s:\n%s", systemSpace, out)
			// The output of a container before its restart is more useful than the output of the new one.
			for _, which := range []string{"--previous", "--previous=false"} {
				out, _ := exec.Command("kubectl", "--namespace", systemSpace, "logs", "--selector", "app.kubernetes.io/component=controller",
					"--prefix", "--tail=50", which).CombinedOutput()
				t.Logf("logs %s:\n%s", which, out)
			}
		}
		// In the foreground, so that the command ends when the last pod is gone.
		err := runCommands(
			[]string{"kubectl", "delete", "--cascade=foreground", "--timeout=90s", "-f", "artifacts/deployment.yaml", "-f", "artifacts/networkpolicy.yaml"},
			withoutWebhooks,
			[]string{"kubectl", "apply", "--server-side=false", "-f", "artifacts/crd.yaml"},
		)
		if err != nil {
			t.Error(err)
		}
	})
	d.apply(image)
	d.addScraper()
	d.awaitReplicas(image)
	return d
}

// addScraper creates the account that reads the metrics, as a user would.
func (d *deployment) addScraper() {
	d.T.Helper()
	run := func(arguments ...string) {
		if out, err := exec.Command("kubectl", arguments...).CombinedOutput(); err != nil {
			d.T.Errorf("kubectl %v: %v\n%s", arguments, err, out)
		}
	}
	remove := func() {
		run("delete", "clusterrolebinding", scraper, "--ignore-not-found")
		run("delete", "serviceaccount", scraper, "--namespace", systemSpace, "--ignore-not-found")
	}
	remove() // a run that was killed may have left them
	d.T.Cleanup(remove)
	run("create", "serviceaccount", scraper, "--namespace", systemSpace)
	run("create", "clusterrolebinding", scraper, "--clusterrole", "podmanager-metrics-reader", "--serviceaccount", systemSpace+":"+scraper)
}

// in returns the deployment for a part of the test.
func (d *deployment) in(t *testing.T) *deployment {
	return &deployment{&space{&harness.Space{T: t, Ctx: t.Context(), Name: systemSpace, Cluster: shared.cluster}}}
}

// apply deploys as a user would. It changes nothing in the manifests except the image.
func (d *deployment) apply(image image) {
	d.T.Helper()
	command := exec.CommandContext(d.T.Context(), "make", "deploy", "IMG="+image.ref)
	// Without the settings of the make that runs the tests.
	command.Env = append(os.Environ(), "MAKEFLAGS=")
	if out, err := command.CombinedOutput(); err != nil {
		d.T.Fatalf("make deploy: %v\n%s", err, out)
	}
}

// awaitReplicas waits until there are two replicas of the image and no others, both are ready, and one of them leads.
func (d *deployment) awaitReplicas(image image) (leader, standby corev1.Pod) {
	d.T.Helper()
	d.Await("a leader and a standby of "+image.ref, func() (any, bool) {
		pods, holder := d.everyPod(), d.holder()
		seen := "the lease is of " + holder
		for _, pod := range pods {
			seen += fmt.Sprintf("; %s of %s, ready %t, terminating %t", pod.Name, pod.Spec.Containers[0].Image, podstate.IsReady(&pod), pod.DeletionTimestamp != nil)
			if pod.Spec.Containers[0].Image != image.ref || !podstate.IsReady(&pod) || len(pods) != 2 {
				return seen, false
			}
		}
		first := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return leads(&pod, holder) })
		if first < 0 {
			return seen, false
		}
		leader, standby = pods[first], pods[1-first]
		return seen, true
	})
	return leader, standby
}

// everyPod returns all pods of the controller, including terminating ones.
func (d *deployment) everyPod() []corev1.Pod {
	d.T.Helper()
	list, err := shared.kube.CoreV1().Pods(systemSpace).List(d.T.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=controller"})
	if err != nil {
		d.T.Fatal(err)
	}
	return list.Items
}

// holder returns the identity of the leader: the host name, which is the pod's name, and a suffix that no other process has.
func (d *deployment) holder() string {
	d.T.Helper()
	// There is no Lease until a replica leads.
	list, err := shared.kube.CoordinationV1().Leases(systemSpace).List(d.T.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + leaseName})
	if err != nil {
		d.T.Fatal(err)
	}
	for _, lease := range list.Items {
		return ptr.Deref(lease.Spec.HolderIdentity, "")
	}
	return ""
}

func leads(pod *corev1.Pod, holder string) bool { return strings.HasPrefix(holder, pod.Name+"_") }

// livenessLimit is how long a replica may be silent. Its liveness probe in artifacts/ allows the same. An API server keeps the machine busy for
// seconds after its CRD has changed.
const livenessLimit = 30 * time.Second

// get sends a request to a replica, with a token if there is one.
func (d *deployment) get(pod *corev1.Pod, url, token string) (body string, code int) {
	d.T.Helper()
	if pod.Spec.NodeName != realNode {
		d.T.Fatalf("%s is on %q, which is no real node", pod.Name, pod.Spec.NodeName)
	}
	request, err := http.NewRequestWithContext(d.T.Context(), http.MethodGet, url, nil)
	if err != nil {
		d.T.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	began := time.Now()
	response, err := client.Do(request)
	for ; err != nil; response, err = client.Do(request) {
		log, _ := exec.CommandContext(d.T.Context(), "kubectl", "logs", "--namespace", systemSpace, pod.Name, "--tail=20").CombinedOutput()
		d.T.Logf("%s does not answer: %v; its log:\n%s", pod.Name, err, log)
		if time.Since(began) > livenessLimit {
			d.T.Fatalf("%s has not answered for %v", pod.Name, livenessLimit)
		}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		d.T.Fatalf("%s answers to %s with %s, error %v", pod.Name, url, response.Status, err)
	}
	return string(data), response.StatusCode
}

// health returns a replica's answer to a probe. metrics returns its metrics, which need an authorized token.
func (d *deployment) health(pod *corev1.Pod, path string) (string, int) {
	d.T.Helper()
	return d.get(pod, fmt.Sprintf("http://%s:%d%s", pod.Status.PodIP, healthPort, path), "")
}

func (d *deployment) metrics(pod *corev1.Pod, token string) (string, int) {
	d.T.Helper()
	return d.get(pod, fmt.Sprintf("https://%s:%d/metrics", pod.Status.PodIP, metricsPort), token)
}

// token returns a token of the scraper.
func (d *deployment) token() string {
	d.T.Helper()
	token, err := exec.CommandContext(d.T.Context(), "kubectl", "create", "token", scraper, "--namespace", systemSpace).Output()
	if err != nil {
		d.T.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// metric returns the value of a replica's metric.
func (d *deployment) metric(pod *corev1.Pod, name string) float64 {
	d.T.Helper()
	body, code := d.metrics(pod, d.token())
	if code != http.StatusOK {
		d.T.Fatalf("%s answers a scrape with %d: %s", pod.Name, code, body)
	}
	value, err := valueOf(body, name)
	if err != nil {
		d.T.Fatalf("%s: %v", pod.Name, err)
	}
	return value
}

// valueOf returns the value of a metric.
func valueOf(metrics, name string) (float64, error) {
	for line := range strings.Lines(metrics) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(text), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// cgroup returns the kernel's folder for a replica's container, with its memory limit and processes, in v1 or v2.
func (d *deployment) cgroup(pod *corev1.Pod) string {
	d.T.Helper()
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	for _, parent := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		if found, err := filepath.Glob(parent + "/*/kubepods/*/*/" + id); err == nil && len(found) == 1 {
			return found[0]
		}
	}
	d.T.Fatalf("the container %q of %s has no cgroup", id, pod.Name)
	return ""
}

// memoryLimit returns the memory limit in bytes.
func (d *deployment) memoryLimit(pod *corev1.Pod) string {
	d.T.Helper()
	folder := d.cgroup(pod)
	limit, err := os.ReadFile(filepath.Join(folder, "memory.max"))
	if err != nil {
		limit, err = os.ReadFile(filepath.Join(folder, "memory.limit_in_bytes"))
	}
	if err != nil {
		d.T.Fatal(err)
	}
	return strings.TrimSpace(string(limit))
}

// process returns the PID of a replica on this machine.
func (d *deployment) process(pod *corev1.Pod) int {
	d.T.Helper()
	text, err := os.ReadFile(filepath.Join(d.cgroup(pod), "cgroup.procs"))
	if err != nil {
		d.T.Fatal(err)
	}
	process, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		d.T.Fatalf("%s does not have exactly one process: %q", pod.Name, text)
	}
	return process
}

// kill kills the process of a replica.
func (d *deployment) kill(pod *corev1.Pod) {
	d.T.Helper()
	if err := syscall.Kill(d.process(pod), syscall.SIGKILL); err != nil {
		d.T.Fatal(err)
	}
}
