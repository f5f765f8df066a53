//go:build e2e

package node

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// takeover is how long it may take until another replica acts for a dead leader; see NewOptions in cmd/controller. 1.6 s of it are for what the new
// leader does.
const takeover = 20 * time.Second

// Neither test needs the controller that the other tests share: one replaces it, the other only needs pods. Therefore they run in parallel.
func TestWithoutSharedController(t *testing.T) {
	t.Run("deployed", testDeployed)
	t.Run("simulation", testSimulation)
}

// The controller runs as artifacts/ define it, from an image that the node pulls. It survives the death of its leader. It also survives an update of
// its own Deployment in the middle of a rollout. The same update enables the webhooks.
func testDeployed(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t)
	// No node has seen these images before, so a node that runs one has pulled it.
	now := time.Now().UnixMilli()
	first, second := registry.publish(fmt.Sprintf("v0.0.1-%d", now)), registry.publish(fmt.Sprintf("v0.0.2-%d", now))
	d := deploy(t, first)
	t.Run("pulled", func(t *testing.T) { d.in(t).isPulled(registry, first) })
	t.Run("restricted", func(t *testing.T) { d.in(t).isRestricted(first) })
	t.Run("healthy", func(t *testing.T) { d.in(t).isHealthy(first) })
	t.Run("leader killed", func(t *testing.T) { d.in(t).losesLeader(first) })
	t.Run("updated in the middle of a rollout", func(t *testing.T) {
		d.in(t).isUpdated(second)
		d.in(t).isPulled(registry, second)
		d.in(t).isHealthy(second)
	})
	t.Run("webhooks", func(t *testing.T) { d.in(t).isAsked() })
}

// isPulled checks that the image came from the registry, according to the registry, the kubelet and the runtime.
func (d *deployment) isPulled(registry *registry, image image) {
	d.T.Helper()
	leader, standby := d.awaitReplicas(image)
	for _, pod := range []corev1.Pod{leader, standby} {
		if id := pod.Status.ContainerStatuses[0].ImageID; !strings.HasSuffix(id, "@"+image.digest) {
			d.T.Errorf("%s runs %s, want %s", pod.Name, id, image.digest)
		}
	}
	registry.says(regexp.MustCompile(`(GET) /v2/podmanager/manifests/` + image.digest + ` .*containerd`))
	d.Await("events of the pull of "+image.ref, func() (any, bool) {
		events, err := shared.kube.CoreV1().Events(systemSpace).List(d.T.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})
		if err != nil {
			return err, false
		}
		seen := map[string]string{}
		for _, event := range events.Items {
			if strings.Contains(event.Message, `"`+image.ref+`"`) && !strings.Contains(event.Message, "already present") {
				seen[event.Reason] = event.Message
			}
		}
		return seen, seen["Pulling"] != "" && strings.HasPrefix(seen["Pulled"], "Successfully pulled image")
	})
}

// isRestricted checks that the namespace only admits pods of the level restricted, and which restrictions the kernel applies to our pods.
func (d *deployment) isRestricted(image image) {
	d.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "root"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "local/web:1"}}}}
	_, err := shared.kube.CoreV1().Pods(systemSpace).Create(d.T.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) {
		d.T.Errorf("a pod that says nothing of security was answered with %v, want a refusal", err)
	}
	want := map[string]string{
		"Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532", "NoNewPrivs": "1", "Seccomp": "2",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
	}
	leader, standby := d.awaitReplicas(image)
	for _, pod := range []corev1.Pod{leader, standby} {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.process(&pod)))
		if err != nil {
			d.T.Fatal(err)
		}
		for name, value := range want {
			if line := name + ":" + value; !slices.Contains(fieldsOf(string(status)), line) {
				d.T.Errorf("%s: the kernel does not say %s:\n%s", pod.Name, line, status)
			}
		}
	}
}

// fieldsOf returns the lines of a process status of the kernel, with single spaces.
func fieldsOf(status string) []string {
	var lines []string
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		lines = append(lines, name+":"+strings.Join(strings.Fields(value), " "))
	}
	return lines
}

// isHealthy checks what the leader and the standby report, and their memory.
func (d *deployment) isHealthy(image image) {
	d.T.Helper()
	const limit = 512 << 20
	leader, standby := d.awaitReplicas(image)
	for leading, pod := range map[float64]corev1.Pod{1: leader, 0: standby} {
		if answer, code := d.health(&pod, "/readyz"); answer != "ok" || code != http.StatusOK {
			d.T.Errorf("%s: /readyz answers %d %q", pod.Name, code, answer)
		}
		if answer, code := d.metrics(&pod, ""); code != http.StatusUnauthorized {
			d.T.Errorf("%s: a scrape without a token is answered with %d %q", pod.Name, code, answer)
		}
		if got := d.metric(&pod, `leader_election_master_status{name="`+leaseName+`"}`); got != leading {
			d.T.Errorf("%s: leader_election_master_status is %v, want %v", pod.Name, got, leading)
		}
		if got := d.memoryLimit(&pod); got != fmt.Sprint(limit) {
			d.T.Errorf("%s may have %s bytes of memory, want %d", pod.Name, got, limit)
		}
		used := d.metric(&pod, "process_resident_memory_bytes")
		d.T.Logf("%s, leading %v: %.0f MiB of memory", pod.Name, leading, used/(1<<20))
		if used > limit/4 {
			d.T.Errorf("%s has %.0f bytes of memory, want at most a quarter of the limit", pod.Name, used)
		}
	}
}

// losesLeader kills the leader. The other replica soon leads, carries out what users request in the meantime, and does not touch what needs no
// change.
func (d *deployment) losesLeader(image image) {
	d.T.Helper()
	idle, busy := newSpaceAlone(d.T), newSpaceAlone(d.T)
	idle.apply(spec(3, replacing, "", web("1", "")))
	busy.apply(spec(1, replacing, "", web("1", "")))
	idle.awaitReady(3)
	busy.awaitReady(1)
	idle.awaitBaked()
	manager, pods := idle.manager(), idle.pods()
	leader, _ := d.awaitReplicas(image)
	dead := d.holder()
	d.kill(&leader)
	began := time.Now()
	busy.apply(spec(2, replacing, "", web("1", "")))
	var led, acted time.Duration
	d.Await("another leader to act", func() (any, bool) {
		holder := d.holder()
		if led == 0 && holder != dead {
			led = time.Since(began)
		}
		acted = time.Since(began)
		return holder, len(busy.pods()) == 2
	})
	d.T.Logf("%s, which is not %s, led after %v, and acted after %v", d.holder(), dead, led, acted)
	if limit := harness.Scaled(takeover); acted > limit {
		d.T.Errorf("the takeover took more than %v", limit)
	}
	busy.awaitReady(2)
	idle.unwrittenSince(manager.ResourceVersion, pods)
	after, standby := d.awaitReplicas(image)
	for _, pod := range []corev1.Pod{after, standby} {
		if want := map[bool]int32{true: 1, false: 0}[pod.UID == leader.UID]; pod.Status.ContainerStatuses[0].RestartCount != want {
			d.T.Errorf("%s was restarted %d times, want %d", pod.Name, pod.Status.ContainerStatuses[0].RestartCount, want)
		}
	}
}

// unwrittenSince checks that the PodManager and its pods were not written, except for the kubelet's status of a pod.
func (s *space) unwrittenSince(manager string, pods []corev1.Pod) {
	s.T.Helper()
	if got := s.manager(); got.ResourceVersion != manager {
		s.T.Errorf("the PodManager was written: %s", harness.Brief(got))
	}
	now := s.pods()
	s.stayed(pods, now, 0)
	for i := range now {
		was, is := pods[i].DeepCopy(), now[i].DeepCopy()
		for _, pod := range []*corev1.Pod{was, is} {
			pod.ResourceVersion, pod.ManagedFields, pod.Status = "", nil, corev1.PodStatus{}
		}
		if !equality.Semantic.DeepEqual(was, is) {
			s.T.Errorf("%s was written: it was %+v, it is %+v", is.Name, was, is)
		}
	}
}

// isUpdated updates the Deployment to another image, and adds the webhooks, while five pods are replaced. Two of the new pods become ready under the
// current leader. The others wait for a leader with the new image, so that the rollout and the update overlap.
func (d *deployment) isUpdated(to image) {
	d.T.Helper()
	s := newSpaceAlone(d.T)
	limits := "podUpdatePolicy: Recreate, maxSurge: 1, maxUnavailable: 1"
	s.apply(spec(5, limits, "", web("1", "")))
	s.awaitReady(5)
	s.awaitBaked()
	before := d.holder()
	witness := s.limits(4, 6)
	s.apply(spec(5, limits, "", web("unready", "")))
	opening := &opening{s, map[types.UID]bool{}}
	s.Await("a new pod to be ready", func() (any, bool) { ready := opening.upTo(1); return ready, ready == 1 })
	d.applyWithWebhooks(to)
	d.Await("a leader of "+to.ref, func() (any, bool) {
		holder := d.holder()
		return fmt.Sprintf("%s leads, %d new pods are ready", holder, opening.upTo(2)), slices.ContainsFunc(d.everyPod(), func(pod corev1.Pod) bool {
			return pod.Spec.Containers[0].Image == to.ref && leads(&pod, holder)
		})
	})
	if manager := s.manager(); manager.Status.UpdatedReplicas >= 5 {
		d.T.Errorf("the rollout is over before the new leader has done anything: %s", harness.Brief(manager))
	}
	s.Await("all pods to be replaced", func() (any, bool) { ready := opening.upTo(5); return ready, ready == 5 })
	d.T.Logf("the PodManager was Ready %v after the last pod", s.awaitReady(5))
	s.answers("unready")
	witness.held()
	if after := d.holder(); after == before {
		d.T.Errorf("%s still leads", after)
	}
	d.awaitReplicas(to)
	out, err := exec.CommandContext(d.T.Context(), "kubectl", "--namespace", systemSpace, "rollout", "status", "deployment/"+deploymentName, "--timeout=30s").CombinedOutput()
	if err != nil {
		d.T.Errorf("kubectl rollout status: %v\n%s", err, out)
	}
}

// opening tells new pods to become ready. They do not until then.
type opening struct {
	s    *space
	told map[types.UID]bool
}

// upTo tells pods to become ready until most pods have been told, and returns how many are ready.
func (o *opening) upTo(most int) int {
	o.s.T.Helper()
	ready := 0
	for _, pod := range o.s.pods() {
		switch {
		case pod.Spec.Containers[0].Image != "local/web:unready" || pod.Status.PodIP == "":
		case podstate.IsReady(&pod):
			ready++
		case o.told[pod.UID] || len(o.told) < most:
			// Again if need be: the pod may not have been listening yet.
			o.told[pod.UID] = true
			o.s.tell(&pod, "/ready")
		}
	}
	return ready
}
