package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// churnFor lets users churn for a while, and calls meanwhile again and again.
func (a *arena) churnFor(length time.Duration, meanwhile func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(a.ctx, length)
	defer cancel()
	a.inParallel(func() { a.churn(ctx) }, func() {
		for ctx.Err() == nil {
			meanwhile(ctx)
		}
	})
}

// churnWithKills kills the controller every second or so.
func churnWithKills(a *arena) {
	length := time.Minute
	if a.short {
		length = 15 * time.Second
	}
	a.start()
	a.churnFor(length, func(ctx context.Context) {
		if lab.Pause(ctx, time.Duration(200+a.random.IntN(800))*time.Millisecond) {
			a.restart()
		}
	})
	a.settle()
	a.judge()
}

// killComponent kills a part of the control plane a few times during churn. Pods that nobody touches stay.
func killComponent(a *arena, component, counter string) {
	kills := 5
	if a.short {
		kills = 1
	}
	a.start()
	calm := a.branch("calm")
	defer calm.close()
	if a.contender.updates() { // only one ReplicaSet controller can run
		calm.start()
	}
	calm.create("web", 5, ownerOptions{})
	calm.awaitCalm()
	before := identities(calm.pods())
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	a.inParallel(func() { a.churn(ctx) }, func() {
		defer cancel()
		for range kills {
			lab.Pause(ctx, time.Duration(1000+a.random.IntN(2000))*time.Millisecond)
			a.must(a.cluster.Signal(component, syscall.SIGKILL))
			a.run.count(counter)
			a.logf("killed %s", component)
			lab.Pause(ctx, time.Duration(a.random.IntN(1500))*time.Millisecond)
			a.must(a.cluster.Repair(a.ctx))
			a.logf("the whole control plane runs again")
		}
	})
	// Scheduler and nodes may wait up to a minute before they try again, which says nothing about the contenders.
	a.must(a.cluster.Signal(lab.Scheduler, syscall.SIGKILL))
	a.must(a.cluster.Signal(lab.Nodes, syscall.SIGKILL))
	a.must(a.cluster.Repair(a.ctx))
	for _, b := range []*arena{a, calm} {
		b.settle()
		b.judge()
	}
	if after := identities(calm.pods()); !slices.Equal(before, after) {
		calm.violate(faults.Violation{Invariant: "I3", Object: "web", What: fmt.Sprintf("healthy pods were replaced: %v became %v", before, after)})
	}
}

// identities are the UIDs of pods.
func identities(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, string(pod.UID))
	}
	slices.Sort(all)
	return all
}

// The lease of a split brain is short, so that a run does not take long, but not so short that a leader often loses it on a busy machine.
const leaseDuration, renewDeadline = 6 * time.Second, 5 * time.Second

// splitBrain stops the leader for longer than its lease while it creates pods, lets a second controller take over and scale down, and
// wakes the first one up.
func splitBrain(a *arena) {
	parts := 4
	if a.short || !a.contender.updates() { // only one ReplicaSet controller can run
		parts = 1
	}
	var all []func()
	for i := range parts {
		all = append(all, func() {
			b := a.branch(fmt.Sprint(i))
			defer b.close()
			b.splitOnce()
		})
	}
	a.inParallel(all...)
}

// sentBefore is how many writes of a controller that was stopped may come after it goes on: it had decided on them, and was stopped on the way
// to the network.
const sentBefore = 2

// countWrites counts the writes to pods and owners that arrive at the proxy, until remove is called. It does not see those that an earlier
// rule hits.
func (a *arena) countWrites() (soFar func() int, remove func()) {
	var writes atomic.Int32
	remove = a.proxy.Inject(faults.Rule{Name: "count", Match: func(r faults.Request) bool {
		if a.isWrite(r) && r.Resource != "leases" {
			writes.Add(1)
		}
		return false
	}})
	return func() int { return int(writes.Load()) }, remove
}

func (a *arena) splitOnce() {
	const many = 40
	few := 5 + a.random.IntN(20)
	a.allowLeases()
	writes, _ := a.countWrites()
	// Creates are slow, so that the leader can be stopped between two of them.
	a.proxy.Inject(faults.Rule{Name: "slow", Match: a.own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 100 * time.Millisecond}}})
	a.start(a.leaseFlags()...)
	first := a.process
	a.await("a leader", func() (string, bool) { return first.Tail(3), a.leader() != "" })
	former := a.leader()
	second := a.launchSuccessor(a.leaseFlags()...)
	defer second.kill()

	a.create("web", many, ownerOptions{})
	a.await("some pods", func() (string, bool) { n := len(a.pods()); return fmt.Sprint(n), n >= 5 })
	a.must(first.Signal(syscall.SIGSTOP))
	a.run.count(splitBrains)
	a.logf("stopped the leader at %d pods", len(a.pods()))
	a.await("the second controller to lead", func() (string, bool) { return second.tail(), a.leader() != former })
	a.awaitPods(many)
	a.scale("web", few)
	if a.random.IntN(2) == 0 {
		a.awaitPods(few)
	}
	before := writes()
	a.must(first.Signal(syscall.SIGCONT))
	a.logf("woke the old leader up")
	a.await("the old leader to end", func() (string, bool) {
		select {
		case <-first.Exited:
			return "", true
		default:
			return first.Tail(3), false
		}
	})
	if n := writes() - before; n > sentBefore {
		a.violate(faults.Violation{Invariant: "I7", Object: former, What: fmt.Sprintf("the old leader has sent %d writes after it was woken up, while another one leads", n)})
	}
	a.settle()
	a.blind = time.Duration(second.away.Load())
	a.judge()
}

// leaseFlags turn on leader election in the arena's namespace.
func (a *arena) leaseFlags() []string {
	dash := "-"
	if !a.contender.updates() {
		dash = "--"
	}
	return []string{dash + "leader-elect=true", dash + "leader-elect-lease-duration=" + leaseDuration.String(), dash + "leader-elect-renew-deadline=" + renewDeadline.String(),
		dash + "leader-elect-retry-period=500ms", dash + "leader-elect-resource-namespace=" + a.namespace, dash + "leader-elect-resource-name=chaos"}
}

// allowLeases gives our controller's account the right to leases in the arena's namespace; artifacts/rbac.yaml gives it another one.
func (a *arena) allowLeases() {
	_, err := a.cluster.Kubectl(a.ctx, "create", "role", "lease", "--namespace", a.namespace, "--verb=get,create,update", "--resource=leases.coordination.k8s.io")
	a.must(err)
	account := strings.TrimPrefix(a.contender.user(), "system:serviceaccount:")
	_, err = a.cluster.Kubectl(a.ctx, "create", "rolebinding", "lease", "--namespace", a.namespace, "--role=lease", "--serviceaccount="+account)
	a.must(err)
}

// leader is the holder of the lease.
func (a *arena) leader() string {
	lease, err := a.cluster.Kube.CoordinationV1().Leases(a.namespace).Get(a.ctx, "chaos", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
