package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// mostCreates is how many pods a controller may create in a minute to replace three pods that fail again and again. PodManager waits
// for 0, 10, 20 and 40 s, which makes 12 pods.
const mostCreates = 20

// failingPods makes every pod fail as soon as it is ready. Meanwhile no controller can converge, so I3 only demands that it does not
// wear out the cluster. (ReplicaSets have no limit.)
func failingPods(a scene) {
	length := time.Minute
	if a.Short {
		length = 30 * time.Second
	}
	a.Start()
	log := a.AuditFromNow()
	a.Create("web", 3, arena.OwnerOptions{})
	began, creates := time.Now(), 0
	for time.Since(began) < length && creates < 10*mostCreates && a.Ctx.Err() == nil {
		a.failReady()
		for _, r := range a.NextWrites(log) {
			if r.What() == "create pods" {
				creates++
			}
		}
		lab.Pause(a.Ctx, 200*time.Millisecond)
	}
	a.Logf("%d pods were created in %v", creates, time.Since(began).Round(time.Second))
	if creates > mostCreates {
		a.Violate(faults.Violation{Invariant: "I3", Object: "web creates",
			What: fmt.Sprintf("%d pods were created in %v to replace 3 failing pods, more than %d", creates, time.Since(began).Round(time.Second), mostCreates)})
	}
	if a.Contender.Updates() { // a ReplicaSet has no condition for it
		a.expect("I5", "web back-off", "the condition Ready to tell when the next pod is due", 5*time.Second, func() (string, bool) {
			message := a.condition("web", "Ready")
			return message, strings.Contains(message, "next try at")
		})
	}
	// Somebody has repaired the cause and deletes the failed pods: the controller has to replace them at once.
	a.Insist(func() error {
		return a.Cluster.Kube.CoreV1().Pods(a.Namespace).DeleteCollection(a.Ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{FieldSelector: "status.phase=Failed"})
	})
	mended := time.Now()
	a.expectGrowth("web", 3, standstill)
	a.awaitCalm()
	a.Run.Converged(time.Since(mended))
	a.StayQuiet()
	a.Judge()
}

// failReady makes all ready pods fail. The simulated node does not change them any more.
func (a scene) failReady() {
	const status = `{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False","reason":"PodFailed","lastTransitionTime":%[1]q}],
		"containerStatuses":[{"name":"app","image":"app","imageID":"","ready":false,"restartCount":0,
		"state":{"terminated":{"exitCode":1,"reason":"Error","startedAt":%[1]q,"finishedAt":%[1]q}}}]}}`
	patch := fmt.Sprintf(status, time.Now().UTC().Format(time.RFC3339))
	for _, pod := range a.Pods() {
		if pod.Status.Phase != corev1.PodFailed && arena.IsReady(&pod) {
			a.Insist(func() error { return a.patchPodStatus(a.Ctx, pod.Name, patch) })
			a.Logf("pod %s fails", pod.Name)
		}
	}
}

func (a scene) patchPodStatus(ctx context.Context, name, patch string) error {
	_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
