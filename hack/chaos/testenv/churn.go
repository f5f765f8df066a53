package testenv

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
func (e *Env) Churn(ctx context.Context) {
	for ctx.Err() == nil {
		e.ChurnOnce()
		lab.Pause(ctx, time.Duration(e.People.Int64N(int64(churnPause))))
	}
}

// ChurnOnce does one action. Most actions scale an object or delete a pod.
func (e *Env) ChurnOnce() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Wants())), func(name string) bool { return strings.HasPrefix(name, CanaryPrefix) })
	if len(names) < 2 {
		e.churnCreate()
		return
	}
	name := names[e.People.IntN(len(names))]
	switch draw := e.People.IntN(100); {
	case draw < 15 && len(names) < churnOwners:
		e.churnCreate()
	case draw < 45:
		e.Scale(name, e.People.IntN(churnReplicas+1))
	case draw < 60 && e.Contender.Updates():
		e.Update(name, fmt.Sprintf("nginx:1.%d", 20+e.People.IntN(9)))
	case draw < 85:
		isSpared := func(pod corev1.Pod) bool {
			_, isDecoy := pod.Labels[faults.DecoyLabel]
			return isDecoy || strings.HasPrefix(pod.Name, CanaryPrefix)
		}
		if pods := slices.DeleteFunc(e.Pods(), isSpared); len(pods) > 0 {
			e.churnPod(pods[e.People.IntN(len(pods))])
		}
	default:
		e.Remove(name)
	}
}

// churnCreate creates an object. The API server would refuse a name that a terminating object still has; in that case nothing is created or wanted.
func (e *Env) churnCreate() {
	name := fmt.Sprintf("web-%d", e.People.IntN(churnOwners))
	if _, wanted := e.Wants()[name]; wanted {
		return
	}
	owners, err := e.Contender.Owners(e.Ctx, e.Namespace)
	if err != nil || slices.ContainsFunc(owners, func(o Owner) bool { return o.Name == name }) {
		return // the old object is still terminating
	}
	options := OwnerOptions{Spec: func(spec *v1.PodManagerSpec) {
		// Half of the objects are updated in place.
		if e.People.IntN(2) == 0 {
			spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible}
		}
	}}
	if e.Vary != nil {
		e.Vary(&options)
	}
	e.Create(name, e.People.IntN(churnReplicas+1), options)
}

// churnPod deletes a pod, with its grace period or at once, or changes its label so that its owner releases it.
func (e *Env) churnPod(pod corev1.Pod) {
	pods := e.Cluster.Kube.CoreV1().Pods(e.Namespace)
	switch draw := e.People.IntN(10); {
	case draw < 4:
		e.DeletePod(pod.Name)
	case draw < 8:
		e.Insist(func() error { return pods.Delete(e.Ctx, pod.Name, metav1.DeleteOptions{}) })
		e.Logf("delete pod %s with its grace period", pod.Name)
	default:
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:"nobody",%q:""}}}`, pod.UID, e.Contender.SelectorLabel(), faults.DecoyLabel)
		e.Insist(func() error {
			_, err := pods.Patch(e.Ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return IgnoreConflict(err)
		})
		e.Logf("relabel pod %s", pod.Name)
	}
}
