//go:build e2e

package core

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The controller is killed while it creates, scales, heals and deletes. The result is the same as without a kill.
func TestRestartInTheMiddleOfEverything(t *testing.T) {
	s := newSpace(t)
	controller := s.private()

	s.applyPrivate("web", "{replicas: 60, image: nginx}")
	s.Await("some pods", func() (any, bool) { n := len(s.AllPods()); return n, n > 5 })
	controller = s.restart(controller)
	s.awaitReady("web", 60)
	before := uids(s.Pods())

	s.Kubectl("scale", "pm/web", "--replicas=20")
	s.Await("some pods to be going", func() (any, bool) { n := len(s.Pods()); return n, n < 58 })
	controller = s.restart(controller)
	s.awaitReady("web", 20)
	for name, uid := range uids(s.Pods()) {
		if before[name] != uid {
			t.Errorf("%s was replaced", name)
		}
	}

	kill(t, controller)
	s.Kubectl("delete", "pod", s.Pods()[0].Name)
	s.Kubectl("scale", "pm/web", "--replicas=25")
	controller = s.private()
	s.awaitReady("web", 25)

	s.Kubectl("delete", "pm", "web", "--wait=false")
	s.Await("some pods to be going", func() (any, bool) { n := len(s.Pods()); return n, n < 25 })
	s.restart(controller)
	s.Await("all to be gone", func() (any, bool) {
		list, err := shared.managers.AppsV1().PodManagers(s.Name).List(s.Ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods := s.AllPods()
		return fmt.Sprint(len(list.Items), podNames(pods)), len(list.Items) == 0 && len(pods) == 0
	})
}

// Of two controllers one leads. If the leader is killed, the other one takes over when the Lease expires. If the leader is stopped, the other one
// takes over at once.
func TestLeaderElection(t *testing.T) {
	s := newSpace(t)
	candidate := func(leaseDuration, renewDeadline string) *lab.Process {
		return s.private("-leader-elect", "-leader-elect-resource-namespace", systemSpace, "-leader-elect-lease-duration", leaseDuration,
			"-leader-elect-renew-deadline", renewDeadline, "-leader-elect-retry-period", "500ms")
	}
	first := candidate("12s", "8s")
	s.applyPrivate("web", "{replicas: 3, image: nginx}")
	s.awaitReady("web", 3)
	second := candidate("2m", "90s") // longer than any test waits for a Lease that was not released

	leading := func(p *lab.Process) bool { return metric(t, p, "leader_election_master_status", "") == 1 }
	if !leading(first) || leading(second) {
		t.Fatalf("first leads: %v, second leads: %v", leading(first), leading(second))
	}
	if n := metric(t, second, "podmanager_reconcile_total", ""); n != 0 {
		t.Errorf("the second controller has synced %v times without leading", n)
	}
	kill(t, first)
	s.Kubectl("scale", "pm/web", "--replicas=5")
	s.awaitReady("web", 5)
	if !leading(second) {
		t.Error("the second controller does not lead")
	}

	third := candidate("2m", "90s")
	if err := second.StopCleanly(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	s.Await("the third controller to lead, because the second has released its Lease", func() (any, bool) { return third.Tail(30), leading(third) })
	s.Kubectl("scale", "pm/web", "--replicas=2")
	s.awaitReady("web", 2)
	if err := third.StopCleanly(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// An error at startup is one line that says what to do.
func TestStartUpErrors(t *testing.T) {
	t.Parallel()
	unreachable := t.TempDir() + "/unreachable"
	data, err := os.ReadFile(shared.cluster.OurKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if strings.Contains(line, "server:") {
			lines[i] = "    server: https://127.0.0.1:1"
		}
	}
	if err := os.WriteFile(unreachable, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		flags []string
		want  string
	}{
		"no such kubeconfig":  {[]string{"-kubeconfig", "/no/such/file"}, "/no/such/file"},
		"unreachable":         {[]string{"-kubeconfig", unreachable}, "127.0.0.1:1"},
		"bad flags, all told": {[]string{"-kubeconfig", unreachable, "-workers", "0", "-selector", "a=b=c"}, "-selector"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := shared.cluster.Launch("start-up", test.flags...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Kill() })
			select {
			case <-p.Exited:
			case <-time.After(harness.Patience):
				t.Fatalf("the controller still runs after %v: %s", harness.Patience, p.Tail(30))
			}
			if out := p.Tail(30); p.Err == nil || !strings.Contains(out, test.want) {
				t.Errorf("%v: %s\nwant an error that names %s", p.Err, out, test.want)
			}
		})
	}
}

// An idle controller writes nothing. The test watches a controller of 100 idle PodManagers for the time in E2E_IDLE.
func TestIdle(t *testing.T) {
	idle := 5 * time.Second // make bench waits a minute
	if given, err := time.ParseDuration(os.Getenv("E2E_IDLE")); err == nil {
		idle = given
	}
	s := newSpace(t)
	controller := s.private()
	client := shared.managers.AppsV1().PodManagers(s.Name)
	for i := range 100 {
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{privateLabel: ""}},
			Spec: v1.PodManagerSpec{Replicas: ptr.To(int32(1)), Image: "nginx", FailurePolicy: v1.FailurePolicy{GracePeriodSeconds: ptr.To[int32](0)}}}
		if _, err := client.Create(s.Ctx, manager, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.Await("all to be Ready, and known to be good", func() (any, bool) {
		list, err := client.List(s.Ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ready := 0
		for i := range list.Items {
			if harness.IsReady(&list.Items[i]) && list.Items[i].Status.CurrentRevision != "" {
				ready++
			}
		}
		return ready, ready == 100
	})
	writes := func() float64 {
		total := 0.0
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			total += metric(t, controller, "rest_client_requests_total", `method="`+method+`"`)
		}
		return total
	}
	// The controller sends events in the background. Wait until the last one has been sent.
	before := writes()
	s.Await("the last events to be sent", func() (any, bool) {
		time.Sleep(time.Second)
		now := writes()
		quiet := now == before
		before = now
		return now, quiet
	})
	time.Sleep(idle)
	if after := writes(); after != before {
		t.Errorf("%v writes in %v of idling", after-before, idle)
	}
	t.Logf("0 writes in %v with 100 PodManagers, after %v writes to get there", idle, before)
}
