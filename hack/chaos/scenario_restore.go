package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
)

// etcdRestore puts etcd back to an earlier state under a running controller. Versions go back, generations are used a
// second time, and informers hear nothing of it. Nobody restarts the controller.
func etcdRestore(a *arena) {
	// Past the proxy: that would break the watches in a way which makes informers list anew by themselves.
	a.kubeconfig = a.contender.kubeconfig()
	a.start()
	a.create("web", 3, ownerOptions{})
	a.create("early", 2, ownerOptions{})
	a.awaitCalm()
	a.judge()
	before := a.wants()
	backup := filepath.Join(a.cluster.Folder, "etcd-backup")
	a.must(os.RemoveAll(backup))
	defer os.RemoveAll(backup)
	a.whileDown(func() { a.must(a.cluster.BackUpEtcd(a.ctx, backup)) })

	a.beginOracle() // this one has a gap
	// What the restore undoes: more pods, an object that comes, one that goes, and many versions.
	a.awaitCalm()
	a.scale("web", 8)
	a.create("late", 2, ownerOptions{})
	a.remove("early")
	a.awaitCalm()
	for i := range 500 {
		a.must(a.contender.patch(a.ctx, a.namespace, "web", fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, i)))
	}
	a.judge() // what it has seen is about to be undone

	a.whileDown(func() { a.must(a.cluster.RestoreEtcd(a.ctx, backup)) })
	a.logf("etcd is as it was at the time of the backup")
	a.mu.Lock()
	a.wanted = before
	a.mu.Unlock()
	a.beginOracle()
	owners, err := a.contender.owners(a.ctx, a.namespace)
	a.must(err)
	if len(owners) != len(before) {
		a.must(fmt.Errorf("the restore did not work: there are %v", owners))
	}
	a.scale("web", 5) // the same generation as the scaling that was undone
	a.settle()
	a.judge()
}

// beginOracle begins anew: what the last oracle has seen is no longer of use.
func (a *arena) beginOracle() {
	oracle, err := faults.StartOracle(a.ctx, a.cluster.Config, a.namespace)
	a.must(err)
	a.oracle = oracle
	for name, wanted := range a.wants() {
		a.ask(name, wanted.replicas)
	}
}

// whileDown does something while neither etcd nor the API server runs. The rest of the control plane does not survive it
// if time goes back meanwhile, so that is started anew, without a moment in which it could act on what it remembers. The
// controller sleeps: an API server that has just started does not know its rights yet, and that alone, if it is met, makes
// informers list anew.
func (a *arena) whileDown(do func()) {
	others := []string{"kube-controller-manager", lab.Scheduler, lab.Nodes}
	send := func(signal syscall.Signal, components ...string) {
		for _, component := range components {
			a.must(a.cluster.Signal(component, signal))
		}
	}
	a.must(a.process.Signal(syscall.SIGSTOP))
	send(syscall.SIGSTOP, others...)
	send(syscall.SIGKILL, lab.APIServer, lab.Etcd)
	do()
	a.must(a.cluster.Repair(a.ctx))
	for try := 0; ; try++ {
		send(syscall.SIGKILL, others...)
		a.must(a.cluster.Repair(a.ctx))
		if a.podsCanRun(20 * time.Second) {
			break
		}
		if try == 3 {
			a.must(errors.New("no pod gets ready any more"))
		}
	}
	a.must(a.process.Signal(syscall.SIGCONT))
	a.logf("all of the control plane runs again")
}

// podsCanRun tells whether a pod that is nobody's gets ready in time: a scheduler or a node that was started too early may
// take a minute until it tries again, which says nothing about the contenders.
func (a *arena) podsCanRun(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	pods := a.cluster.Kube.CoreV1().Pods(a.namespace)
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: (ownerOptions{}).template(nil).Spec}
	defer a.insist(func() error { return pods.Delete(a.ctx, probe.Name, *metav1.NewDeleteOptions(0)) })
	a.insist(func() error { _, err := pods.Create(a.ctx, probe, metav1.CreateOptions{}); return err })
	for {
		if pod, err := pods.Get(ctx, probe.Name, metav1.GetOptions{}); err == nil && isReady(pod) {
			return true
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			return false
		}
	}
}
