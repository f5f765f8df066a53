package scenarios

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

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// churnFor lets users churn for a while, and repeatedly calls meanwhile.
func (a scene) churnFor(length time.Duration, meanwhile func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(a.Ctx, length)
	defer cancel()
	a.InParallel(func() { a.Churn(ctx) }, func() {
		for ctx.Err() == nil {
			meanwhile(ctx)
		}
	})
}

// killAPIServer kills the API server a few times during churn. Pods that no user touches must survive.
func killAPIServer(a scene) {
	kills := 5
	if a.Short {
		kills = 1
	}
	a.Start()
	calm := a.branch("calm")
	defer calm.Close()
	if a.Contender.Updates() { // only one ReplicaSet controller can run
		calm.Start()
	}
	calm.Create("web", 5, testenv.OwnerOptions{})
	calm.awaitCalm()
	before := identities(calm.Pods())
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	a.InParallel(func() { a.Churn(ctx) }, func() {
		defer cancel()
		for range kills {
			lab.Pause(ctx, time.Duration(1000+a.Random.IntN(2000))*time.Millisecond)
			a.Must(a.Cluster.Signal(lab.APIServer, syscall.SIGKILL))
			a.Run.Count(testenv.APIServerKills, 1)
			a.Logf("killed the API server")
			lab.Pause(ctx, time.Duration(a.Random.IntN(1500))*time.Millisecond)
			a.Must(a.Cluster.Repair(a.Ctx))
			a.Logf("the whole control plane runs again")
		}
		lab.Pause(ctx, 3*time.Second) // a contender that has not reopened its watches misses what users do now
	})
	// The scheduler and the nodes may wait for up to a minute before they retry, which proves nothing about the contenders.
	a.Must(a.Cluster.Signal(lab.Scheduler, syscall.SIGKILL))
	a.Must(a.Cluster.Signal(lab.Nodes, syscall.SIGKILL))
	a.Must(a.Cluster.Repair(a.Ctx))
	for _, b := range []scene{a, calm} {
		b.Settle()
		b.Judge()
	}
	if after := identities(calm.Pods()); !slices.Equal(before, after) {
		calm.Violate(faults.Violation{Invariant: "I3", Object: "web", What: fmt.Sprintf("healthy pods were replaced: %v became %v", before, after)})
	}
}

// identities returns the UIDs of pods.
func identities(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, string(pod.UID))
	}
	slices.Sort(all)
	return all
}

// The Lease of a split brain is short, so that a run does not take long, but not so short that a leader often loses it on a busy machine.
const leaseDuration, renewDeadline = 6 * time.Second, 5 * time.Second

// splitBrain stops the leader for longer than its Lease while it creates pods, lets a second controller take over and scale down, and resumes the
// first one.
func splitBrain(a scene) {
	parts := 4
	if a.Short || !a.Contender.Updates() { // only one ReplicaSet controller can run
		parts = 1
	}
	var all []func()
	for i := range parts {
		all = append(all, func() {
			b := a.branch(fmt.Sprint(i))
			defer b.Close()
			b.splitOnce()
		})
	}
	a.InParallel(all...)
}

// sentBefore is how many writes of a stopped controller may arrive after it resumes: it had decided on them before it was stopped.
const sentBefore = 2

// countWrites counts the writes to pods and owners that reach the proxy, until remove is called. It does not see requests that an earlier rule
// hits.
func (a scene) countWrites() (soFar func() int, remove func()) {
	var writes atomic.Int32
	remove = a.Proxy.Inject(faults.Rule{Name: "count", Match: func(r faults.Request) bool {
		if a.isWrite(r) && r.Resource != "leases" {
			writes.Add(1)
		}
		return false
	}})
	return func() int { return int(writes.Load()) }, remove
}

func (a scene) splitOnce() {
	const many = 40
	few := 5 + a.Random.IntN(20)
	a.allowLeases()
	writes, _ := a.countWrites()
	// Creates are slow, so that the leader can be stopped between two of them.
	a.Proxy.Inject(faults.Rule{Name: "slow", Match: a.Own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 100 * time.Millisecond}}})
	a.Start(a.leaseFlags()...)
	first := a.Process
	a.Await("a leader", func() (string, bool) { return first.Tail(3), a.leader() != "" })
	former := a.leader()
	second := a.launchSuccessor(a.leaseFlags()...)
	defer second.kill()

	a.Create("web", many, testenv.OwnerOptions{})
	a.Await("some pods", func() (string, bool) { n := len(a.Pods()); return fmt.Sprint(n), n >= 5 })
	a.Must(first.Signal(syscall.SIGSTOP))
	a.Run.Count(testenv.SplitBrains, 1)
	a.Logf("stopped the leader when there were %d pods", len(a.Pods()))
	a.Await("the second controller to lead", func() (string, bool) { return second.tail(), a.leader() != former })
	a.awaitPods(many)
	a.Scale("web", few)
	if a.Random.IntN(2) == 0 {
		a.awaitPods(few)
	}
	before := writes()
	a.Must(first.Signal(syscall.SIGCONT))
	a.Logf("resumed the old leader")
	a.Await("the old leader to end", func() (string, bool) {
		select {
		case <-first.Exited:
			return "", true
		default:
			return first.Tail(3), false
		}
	})
	if n := writes() - before; n > sentBefore {
		a.Violate(faults.Violation{Invariant: "I6", Object: former, What: fmt.Sprintf(
			"the old leader has sent %d writes after it was resumed, while another controller leads", n)})
	}
	a.Settle()
	a.Blind = time.Duration(second.away.Load())
	a.Judge()
}

// awaitPods waits until there are count pods.
func (a scene) awaitPods(count int) {
	a.Await(fmt.Sprintf("%d pods", count), func() (string, bool) {
		n := len(a.Pods())
		return fmt.Sprint(n), n == count
	})
}

// leaseFlags returns the flags that enable leader election in the namespace of the test environment.
func (a scene) leaseFlags() []string {
	dash := "-"
	if !a.Contender.Updates() {
		dash = "--"
	}
	return []string{dash + "leader-elect=true", dash + "leader-elect-lease-duration=" + leaseDuration.String(), dash + "leader-elect-renew-deadline=" + renewDeadline.String(),
		dash + "leader-elect-retry-period=500ms", dash + "leader-elect-resource-namespace=" + a.Namespace, dash + "leader-elect-resource-name=chaos"}
}

// allowLeases grants our controller's account access to leases in the namespace of the test environment. artifacts/rbac.yaml grants access to
// another one.
func (a scene) allowLeases() {
	_, err := a.Cluster.Kubectl(a.Ctx, "create", "role", "lease", "--namespace", a.Namespace, "--verb=get,create,update", "--resource=leases.coordination.k8s.io")
	a.Must(err)
	account := strings.TrimPrefix(a.Contender.User(), "system:serviceaccount:")
	_, err = a.Cluster.Kubectl(a.Ctx, "create", "rolebinding", "lease", "--namespace", a.Namespace, "--role=lease", "--serviceaccount="+account)
	a.Must(err)
}

// leader returns the holder of the lease.
func (a scene) leader() string {
	lease, err := a.Cluster.Kube.CoordinationV1().Leases(a.Namespace).Get(a.Ctx, "chaos", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
