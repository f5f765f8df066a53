package scenarios

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// allMarked marks every pod of two objects for deletion at the same time: an update of the first object may make some pods unavailable,
// an update of the second may not. In the end all pods are replaced, and meanwhile never fewer are ready than during an update.
func allMarked(a scene) {
	least := map[string]int{"web": 6, "small": 3} // a quarter of 8 and of 3, rounded down, may be unavailable
	a.Start()
	a.Create("web", 8, arena.OwnerOptions{})
	a.Create("small", 3, arena.OwnerOptions{})
	a.awaitCalm()
	for name := range least { // the controller may create surge pods, as in an update; the oracle allows these from the second template on
		a.Update(name, "nginx:1.28")
	}
	a.awaitCalm()
	before := a.Pods()
	var marks, ends []func()
	for name, count := range least {
		ends = append(ends, a.Oracle.Guard(a.Namespace+"/"+name, count))
	}
	for _, pod := range before {
		marks = append(marks, func() { a.mark(pod.Name) })
	}
	began := time.Now()
	a.InParallel(marks...)
	a.Logf("all %d pods are marked", len(before))
	a.expect("I3", "marks", "all marked pods to be replaced", arena.SettleLimit, func() (string, bool) {
		left := slices.DeleteFunc(a.Pods(), func(pod corev1.Pod) bool { return pod.Annotations[v1.AnnotationDelete] == "" })
		return fmt.Sprintf("%d of %d are left", len(left), len(before)), len(left) == 0
	})
	a.awaitCalm()
	a.Logf("replaced after %v", time.Since(began).Round(time.Millisecond))
	for _, end := range ends {
		end()
	}
	a.checkReplaced(before)
	a.Settle()
	a.Judge()
}

// mark asks for a pod to be replaced.
func (a scene) mark(pod string) {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, v1.AnnotationDelete)
	a.Insist(func() error {
		_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Patch(a.Ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// checkReplaced checks that none of the pods is left.
func (a scene) checkReplaced(before []corev1.Pod) {
	after := identities(a.Pods())
	for _, uid := range identities(before) {
		if slices.Contains(after, uid) {
			a.Violate(faults.Violation{Invariant: "I3", Object: "marked " + uid, What: fmt.Sprintf("the pod with UID %s was marked, and still exists", uid)})
		}
	}
}
