package scenarios

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// namespaceTerminating deletes the namespace while the controller creates pods in it. From then on the API server refuses every create, and pods
// disappear that the controller would otherwise replace.
func namespaceTerminating(a scene) {
	replicas := 300
	if a.Short {
		replicas = 60
	}
	a.Start()
	log := a.AuditFromNow()
	a.Create("web", replicas, testenv.OwnerOptions{})
	a.Create("db", 3, testenv.OwnerOptions{})
	a.Await("some pods", func() (string, bool) { n := len(a.Pods()); return fmt.Sprint(n), n >= replicas/10 })
	a.Must(a.Cluster.Kube.CoreV1().Namespaces().Delete(a.Ctx, a.Namespace, metav1.DeleteOptions{}))
	a.Logf("deleted the namespace when it had %d pods", len(a.Pods()))
	for name := range a.Wants() {
		a.Unset(name)
	}
	began := time.Now()
	lab.Pause(a.Ctx, 2*time.Second)
	late := a.AuditFromNow()
	gone := a.expect("I2", a.Namespace, "the namespace to be gone", testenv.SettleLimit, func() (string, bool) {
		namespace, err := a.Cluster.Kube.CoreV1().Namespaces().Get(a.Ctx, a.Namespace, metav1.GetOptions{})
		return fmt.Sprint(namespace.Status.Conditions), apierrors.IsNotFound(err)
	})
	if gone {
		a.Run.Converged(time.Since(began))
	}
	// The current batch may fail as a whole. Later the controller should know that the namespace is terminating.
	a.boundErrors("in all", log, replicas*2/3)
	a.boundErrors("from 2 s after its deletion on", late, replicas/5)
	a.Settle()
	a.Judge()
}

// boundErrors limits how many writes may have failed since a time.
func (a scene) boundErrors(when string, since *audit.Log, most int) {
	errors := unsuccessful(a.NextWrites(since))
	a.Logf("%d writes failed %s", len(errors), when)
	if len(errors) > most {
		a.Violate(faults.Violation{Invariant: "I3", Object: a.Namespace + " " + when,
			What: fmt.Sprintf("%d writes failed while the namespace was deleted, %s, more than %d; the last was %v", len(errors), when, most, errors[len(errors)-1])})
	}
}

// unsuccessful returns the requests that failed, except for conflicts with a client that was faster.
func unsuccessful(requests []audit.Request) []audit.Request {
	return slices.DeleteFunc(requests, func(r audit.Request) bool {
		code := r.ResponseStatus.Code
		return code < http.StatusBadRequest || code == http.StatusNotFound || code == http.StatusConflict
	})
}

// collectorAway deletes an owner and creates another of the same name while no garbage collector runs. This stands for a garbage collector that
// misses the deletion because its watch breaks in between. The second owner must not wait forever for the names of the first owner's pods and
// revisions, and nothing of the first owner may remain.
func collectorAway(a scene) {
	const collector = "kube-controller-manager"
	a.Start()
	a.Create("web", 4, testenv.OwnerOptions{})
	a.awaitCalm()
	before := map[types.UID]bool{}
	for _, pod := range a.PodsOf("web") {
		before[pod.UID] = true
	}
	a.Must(a.Cluster.Signal(collector, syscall.SIGKILL))
	a.Logf("killed the garbage collector")
	a.Remove("web")
	a.Create("web", 3, testenv.OwnerOptions{})
	a.expect("I2", "web", "the pods of the first owner to be gone", testenv.SettleLimit, func() (string, bool) {
		left := slices.DeleteFunc(a.PodsOf("web"), func(pod corev1.Pod) bool { return !before[pod.UID] })
		return fmt.Sprintf("%d are left", len(left)), len(left) == 0
	})
	a.Must(a.Cluster.Repair(a.Ctx))
	a.Logf("the whole control plane runs again")
	a.Settle()
	a.Judge()
}
