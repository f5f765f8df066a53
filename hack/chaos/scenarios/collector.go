package scenarios

import (
	"fmt"
	"slices"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
)

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
