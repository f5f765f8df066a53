package arena

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// churnOwners is the maximum number of objects at a time, churnReplicas the maximum number of pods of an object.
	churnOwners, churnReplicas = 6, 8
	// churnPause is the longest time between two actions.
	churnPause = 250 * time.Millisecond
	// CanaryPrefix is the prefix of the names of the scenario's objects and their pods. The churn leaves them alone.
	CanaryPrefix = "canary-"
)

// Churn creates, scales, edits, relabels and deletes at random until ctx is done.
func (a *Arena) Churn(ctx context.Context) {
	for ctx.Err() == nil {
		a.ChurnOnce()
		lab.Pause(ctx, time.Duration(a.People.Int64N(int64(churnPause))))
	}
}

// ChurnOnce does one action. Most actions scale an object or delete a pod.
func (a *Arena) ChurnOnce() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(a.Wants())), func(name string) bool { return strings.HasPrefix(name, CanaryPrefix) })
	if len(names) < 2 {
		a.churnCreate()
		return
	}
	name := names[a.People.IntN(len(names))]
	switch draw := a.People.IntN(100); {
	case draw < 15 && len(names) < churnOwners:
		a.churnCreate()
	case draw < 45:
		a.Scale(name, a.People.IntN(churnReplicas+1))
	case draw < 60 && a.Contender.Updates():
		a.Update(name, fmt.Sprintf("nginx:1.%d", 20+a.People.IntN(9)))
	case draw < 85:
		isSpared := func(pod corev1.Pod) bool {
			_, isDecoy := pod.Labels[faults.DecoyLabel]
			return isDecoy || strings.HasPrefix(pod.Name, CanaryPrefix)
		}
		if pods := slices.DeleteFunc(a.Pods(), isSpared); len(pods) > 0 {
			a.churnPod(pods[a.People.IntN(len(pods))])
		}
	default:
		a.Remove(name)
	}
}

// churnCreate creates an object. The API server would refuse a name that a terminating object still has; in that case nothing is created or wanted.
func (a *Arena) churnCreate() {
	name := fmt.Sprintf("web-%d", a.People.IntN(churnOwners))
	if _, wanted := a.Wants()[name]; wanted {
		return
	}
	owners, err := a.Contender.Owners(a.Ctx, a.Namespace)
	if err != nil || slices.ContainsFunc(owners, func(o Owner) bool { return o.Name == name }) {
		return // the old object is still terminating
	}
	a.Create(name, a.People.IntN(churnReplicas+1), OwnerOptions{Spec: func(spec *v1.PodManagerSpec) {
		// Half of the objects are updated in place.
		if a.People.IntN(2) == 0 {
			spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible}
		}
	}})
}

// churnPod deletes a pod, with its grace period or at once, or changes its label so that its owner releases it.
func (a *Arena) churnPod(pod corev1.Pod) {
	pods := a.Cluster.Kube.CoreV1().Pods(a.Namespace)
	switch draw := a.People.IntN(10); {
	case draw < 4:
		a.DeletePod(pod.Name)
	case draw < 8:
		a.Insist(func() error { return pods.Delete(a.Ctx, pod.Name, metav1.DeleteOptions{}) })
		a.Logf("delete pod %s with its grace period", pod.Name)
	default:
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:"nobody",%q:""}}}`, pod.UID, a.Contender.SelectorLabel(), faults.DecoyLabel)
		a.Insist(func() error {
			_, err := pods.Patch(a.Ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return IgnoreConflict(err)
		})
		a.Logf("relabel pod %s", pod.Name)
	}
}
