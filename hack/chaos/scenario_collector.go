package main

import (
	"fmt"
	"slices"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// collectorAway deletes an owner and creates another of the same name while no garbage collector runs. This stands for a garbage collector
// that misses the deletion because its watch breaks between the two. The second owner must not wait for ever for the names of the first
// owner's pods and revisions, and nothing of the first owner may stay.
func collectorAway(a *arena) {
	const collector = "kube-controller-manager"
	a.start()
	a.create("web", 4, ownerOptions{})
	a.awaitCalm()
	before := map[types.UID]bool{}
	for _, pod := range a.podsOf("web") {
		before[pod.UID] = true
	}
	a.must(a.cluster.Signal(collector, syscall.SIGKILL))
	a.logf("killed the garbage collector")
	a.replace("web", 3)
	a.expect("I2", "web", "the pods of the first owner to be gone", settleLimit, func() (string, bool) {
		left := slices.DeleteFunc(a.podsOf("web"), func(pod corev1.Pod) bool { return !before[pod.UID] })
		return fmt.Sprintf("%d are left", len(left)), len(left) == 0
	})
	a.must(a.cluster.Repair(a.ctx))
	a.logf("the whole control plane runs again")
	a.settle()
	a.judge()
}
