package scenarios

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

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// etcdRestore restores etcd from a backup under a running controller. Versions go back, generations are reused, and informers get no event about
// it. The controller is not restarted.
func etcdRestore(a scene) {
	const undone = 2000 // versions: more than the control plane writes when it restarts
	// Without the proxy, which would break the watches in a way that makes informers relist on their own.
	a.Kubeconfig = a.Contender.Kubeconfig()
	a.Start()
	a.Create("web", 3, testenv.OwnerOptions{})
	a.Create("early", 2, testenv.OwnerOptions{})
	a.awaitCalm()
	a.Judge()
	before := a.Wants()
	backup := filepath.Join(a.Cluster.Folder, "etcd-backup")
	a.Must(os.RemoveAll(backup))
	defer os.RemoveAll(backup)
	a.whileDown(func() { a.Must(a.Cluster.BackUpEtcd(a.Ctx, backup)) })
	a.wake()

	a.BeginOracle(a.Wants()) // the previous oracle has a gap
	// The restore reverts all of this: more pods, a new object, a deleted one, and many versions.
	a.awaitCalm()
	a.Scale("web", 8)
	a.Create("late", 2, testenv.OwnerOptions{})
	a.Remove("early")
	a.awaitCalm()
	for range undone {
		a.touch("web")
	}
	a.Judge() // the restore reverts what this oracle has seen

	a.whileDown(func() { a.Must(a.Cluster.RestoreEtcd(a.Ctx, backup)) })
	a.Logf("etcd is restored from the backup")
	a.wake()
	a.BeginOracle(before)
	owners, err := a.Contender.Owners(a.Ctx, a.Namespace)
	a.Must(err)
	if len(owners) != len(before) {
		a.Must(fmt.Errorf("the restore did not work: the owners are %v", owners))
	}
	a.Scale("web", 5) // this gets the generation of the scaling that was reverted
	a.Settle()
	a.Judge()
}

// touch changes an annotation of an object. The controller need not do anything about it.
func (a scene) touch(name string) {
	a.Must(a.Contender.Patch(a.Ctx, a.Namespace, name, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, time.Now().UnixNano())))
}

// whileDown does something while neither etcd nor the API server runs. The rest of the control plane does not survive a restore, so whileDown
// restarts it, and gives it no time to act on its old caches. The controller is stopped until wake is called: a new API server does not know the
// controller's permissions yet, and a refusal alone would make informers relist.
func (a scene) whileDown(do func()) {
	others := []string{"kube-controller-manager", lab.Scheduler, lab.Nodes}
	send := func(signal syscall.Signal, components ...string) {
		for _, component := range components {
			a.Must(a.Cluster.Signal(component, signal))
		}
	}
	a.Must(a.Process.Signal(syscall.SIGSTOP))
	send(syscall.SIGSTOP, others...)
	send(syscall.SIGKILL, lab.APIServer, lab.Etcd)
	do()
	a.Must(a.Cluster.Repair(a.Ctx))
	for try := 0; ; try++ {
		send(syscall.SIGKILL, others...)
		a.Must(a.Cluster.Repair(a.Ctx))
		if a.podsCanRun(20 * time.Second) {
			break
		}
		if try == 3 {
			a.Must(errors.New("no pod becomes ready any more"))
		}
	}
	a.Logf("the whole control plane runs again")
}

// wake resumes the controller.
func (a scene) wake() {
	a.Must(a.Process.Signal(syscall.SIGCONT))
}

// podsCanRun reports whether a pod without an owner becomes ready in time. A scheduler or a node that was started too early may wait for a minute
// before it retries, which proves nothing about the contenders.
func (a scene) podsCanRun(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(a.Ctx, limit)
	defer cancel()
	pods := a.Cluster.Kube.CoreV1().Pods(a.Namespace)
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: (testenv.OwnerOptions{}).Template(nil).Spec}
	defer a.Insist(func() error { return pods.Delete(a.Ctx, probe.Name, *metav1.NewDeleteOptions(0)) })
	a.Insist(func() error { _, err := pods.Create(a.Ctx, probe, metav1.CreateOptions{}); return err })
	for {
		if pod, err := pods.Get(ctx, probe.Name, metav1.GetOptions{}); err == nil && testenv.IsReady(pod) {
			return true
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			return false
		}
	}
}
