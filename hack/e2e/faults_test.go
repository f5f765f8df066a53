//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mycompany/podmanager/hack/faults"
)

// The answers to 30 % of the pod creates are lost after the server has acted. Not one pod too many comes of it.
func TestLostAnswers(t *testing.T) {
	const managers, replicas = 200, 5
	f := newFaulty(t, "-workers", "20") // or a retry would have to wait for the others
	f.inBursts(f.own("watch", "pods"))
	f.proxy.Inject(faults.Rule{Name: "lost", Match: f.own("create", "pods"), Rate: 0.3, Faults: []faults.Fault{{DropAnswer: true}}})
	began := time.Now()
	f.createMany(managers, replicas)
	f.awaitMany(4*patience, managers, replicas)
	lost := f.proxy.Count("lost")
	t.Logf("%d pods in %v, with %d answers lost", managers*replicas, time.Since(began), lost)
	if lost < managers*replicas/5 {
		t.Errorf("only %d answers were lost", lost)
	}
	if all := len(f.allPods()); all != managers*replicas {
		t.Errorf("%d pods", all)
	}
	report := f.judge()
	if report.Peak != managers*replicas || len(report.Peaks) != managers {
		t.Errorf("at most %d pods of %d PodManagers", report.Peak, len(report.Peaks))
	}
	for name, peak := range report.Peaks {
		if peak != replicas {
			t.Errorf("%s had %d active pods", name, peak)
		}
	}
}

// The watch of pods stands still for longer than the controller waits for it, while pods vanish and replicas change.
// E2E_STALL sets how long.
func TestStalledWatch(t *testing.T) {
	length := 30 * time.Second
	if given, err := time.ParseDuration(os.Getenv("E2E_STALL")); err == nil {
		length = given
	}
	f := newFaulty(t)
	f.createMany(1, 5)
	f.awaitReady("web-0", 5)
	stall := f.proxy.Stall(f.own("watch", "pods"))
	began := time.Now()
	active := func(want int) {
		t.Helper()
		f.await(fmt.Sprintf("%d pods although the watch stands still", want), func() (any, bool) {
			pods := podNames(f.pods())
			return pods, len(pods) == want
		})
		t.Logf("%d pods after %v", want, time.Since(began))
	}

	f.deletePods("web-0-0", "web-0-1")
	f.scaleMany(1, 8)
	active(8) // three of them because the cache shows 5, two because a live read told better
	f.scaleMany(1, 4)
	f.deletePods(f.pods()[0].Name)
	active(4)
	f.scaleMany(1, 6)
	active(6)
	f.deletePods(f.pods()[0].Name)
	time.Sleep(time.Until(began.Add(length)))

	stall.Resume()
	began = time.Now()
	active(6)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to replace the pod once the watch went on", took)
	}
	f.awaitReady("web-0", 6)
	if f.controller.metric(t, "podmanager_live_reads_total", "") == 0 {
		t.Error("the controller never read from the API server: the stall was too short to prove a thing")
	}
	f.judge()
}

// Pods are deleted while the controller cannot see it. It replaces them as soon as it can see again.
func TestMissedDelete(t *testing.T) {
	tests := map[string]func(f *faulty) (restore func()){
		"the watch stands still and is cut": func(f *faulty) func() {
			return f.proxy.Stall(f.own("watch", "pods")).Cut
		},
		"the watch is cut and refused": func(f *faulty) func() {
			restore := f.proxy.Inject(faults.Rule{Name: "refused", Match: f.own("watch", "pods"), Rate: 1, Faults: []faults.Fault{{Status: 503}}})
			if f.proxy.CutWatches(f.own("watch", "pods")) == 0 {
				f.t.Fatal("there is no watch to cut")
			}
			return restore
		},
	}
	for name, blind := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(t)
			f.createMany(1, 5)
			f.awaitReady("web-0", 5)
			restore := blind(f)
			f.deletePods("web-0-1", "web-0-3")
			if got := len(f.pods()); got != 3 {
				t.Fatalf("%d pods before the controller could see that", got)
			}
			restore()
			began := time.Now()
			f.await("the pods to be replaced", func() (any, bool) { n := len(f.pods()); return n, n == 5 })
			took := time.Since(began)
			t.Logf("replaced after %v", took)
			if took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			f.awaitReady("web-0", 5)
			f.judge()
		})
	}
}

// 30 % of the writes fail, in three ways, while pods are created, scaled, deleted and healed.
func TestServerErrors(t *testing.T) {
	const managers = 20
	f := newFaulty(t)
	stop := f.proxy.Inject(faults.Rule{Name: "errors", Rate: 0.3,
		Match:  func(r faults.Request) bool { return r.IsWrite() && r.Namespace == f.name },
		Faults: []faults.Fault{{Status: 429, RetryAfter: time.Second}, {Status: 500}, {Status: 503}}})
	f.createMany(managers, 3)
	f.awaitMany(4*patience, managers, 3)
	f.scaleMany(managers, 5)
	f.awaitFor(4*patience, "some of the new pods", func() (any, bool) { n := len(f.pods()); return n, n > 4*managers })
	f.deletePods(f.pods()[0].Name, f.pods()[managers].Name)
	f.scaleMany(managers, 2)
	f.awaitFor(4*patience, "some pods to go", func() (any, bool) { n := len(f.pods()); return n, n < 3*managers })
	stop()

	began := time.Now()
	f.scaleMany(managers, 4)
	f.awaitMany(2*patience, managers, 4)
	t.Logf("%d writes failed; %v after the last of them all was well", f.proxy.Count("errors"), time.Since(began))
	if all := len(f.allPods()); all != 4*managers {
		t.Errorf("%d pods", all)
	}
	f.judge()
}

// Somebody writes to the PodManager 50 times a second, if the machine can. It gets scaled all the same, and its status stays true.
func TestConflictStorm(t *testing.T) {
	const writers, rate = 10, 50
	f := newFaulty(t)
	f.createMany(1, 3)
	f.awaitReady("web-0", 3)
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writes [writers]int
	began := time.Now()
	for i := range writers {
		running.Go(func() {
			for tick := time.NewTicker(writers * time.Second / rate); ctx.Err() == nil; <-tick.C {
				err := f.patch("web-0", fmt.Sprintf(`{"metadata":{"annotations":{"storm-%d":"%d"}}}`, i, writes[i]))
				switch {
				case err == nil:
					writes[i]++
				case ctx.Err() == nil && !apierrors.IsConflict(err): // they get into each other's way, too
					t.Error(err)
				}
			}
		})
	}
	for _, replicas := range []int{6, 2, 9, 0, 4} {
		f.scaleMany(1, int32(replicas))
		f.awaitReady("web-0", replicas)
	}
	took := time.Since(began)
	stop()
	running.Wait()
	total := 0
	for _, n := range writes {
		total += n
	}
	perSecond := float64(total) / took.Seconds()
	t.Logf("scaled 5 times in %v, with %d writes (%.0f/s) of others", took, total, perSecond)
	if perSecond < rate/10 { // a slow machine; still far more than the controller writes
		t.Errorf("%.0f writes/s are no storm", perSecond)
	}
	f.judge()
}

// The leader stands still for longer than its lease lasts, in the middle of creating pods, and wakes up when another
// one has taken over. It notices that, and leaves.
func TestSplitBrain(t *testing.T) {
	const many, few = 60, 20
	flags := []string{"-leader-elect", "-leader-elect-lease-duration", "3s", "-leader-elect-renew-deadline", "2s",
		"-leader-elect-retry-period", "500ms", "-leader-elect-resource-namespace"}
	f := newFaulty(t)
	if err := f.controller.kill(); err != nil { // it does not elect
		t.Fatal(err)
	}
	flags = append(flags, f.name)
	f.kubectl("create", "role", "lease", "--verb=get,create,update", "--resource=leases.coordination.k8s.io")
	f.kubectl("create", "rolebinding", "lease", "--role=lease", "--serviceaccount="+systemSpace+":"+serviceAccount)
	f.proxy.Inject(faults.Rule{Name: "slow", Match: f.own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 100 * time.Millisecond}}})
	first := f.private(slices.Concat([]string{"-kubeconfig", f.kubeconfig}, flags)...)
	leading := func(p *process) bool { return p.metric(t, "leader_election_master_status", "") == 1 }
	f.await("the first to lead", func() (any, bool) { return first.tail(), leading(first) })
	second := f.private(flags...)

	f.createMany(1, many)
	f.await("some pods", func() (any, bool) { n := len(f.allPods()); return n, n >= 10 })
	if err := first.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if n := len(f.allPods()); n >= many {
		t.Fatalf("the leader was stopped too late: there are %d pods", n)
	}
	f.await("the second to lead", func() (any, bool) { return second.tail(), leading(second) })
	f.awaitReady("web-0", many)
	f.scaleMany(1, few)
	f.awaitReady("web-0", few)

	if err := first.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.exited:
		if first.err == nil {
			t.Error("the old leader left as if all were well")
		}
		t.Logf("the old leader left: %v", first.err)
	case <-time.After(patience):
		t.Fatalf("the old leader is still there:\n%s", first.tail())
	}
	f.awaitReady("web-0", few)
	report := f.judge()
	if peak := report.Peaks[f.name+"/web-0"]; peak > many {
		t.Errorf("%d pods", peak)
	}
}
