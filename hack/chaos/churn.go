package main

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
	// churnOwners is the largest number of objects at one time, churnReplicas the largest number of pods of an object.
	churnOwners, churnReplicas = 6, 8
	// churnPause is the longest time between two actions.
	churnPause = 250 * time.Millisecond
	// canaryPrefix is that of the names of objects, and of their pods, that belong to the scenario.
	canaryPrefix = "canary-"
)

// churn creates, scales, edits, relabels and deletes at random until ctx is done.
func (a *arena) churn(ctx context.Context) {
	for ctx.Err() == nil {
		a.churnOnce()
		lab.Pause(ctx, time.Duration(a.people.Int64N(int64(churnPause))))
	}
}

// churnOnce does one action. Most actions scale an object or delete a pod.
func (a *arena) churnOnce() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(a.wants())), func(name string) bool { return strings.HasPrefix(name, canaryPrefix) })
	if len(names) < 2 {
		a.churnCreate()
		return
	}
	name := names[a.people.IntN(len(names))]
	switch draw := a.people.IntN(100); {
	case draw < 15 && len(names) < churnOwners:
		a.churnCreate()
	case draw < 45:
		a.scale(name, a.people.IntN(churnReplicas+1))
	case draw < 60 && a.contender.updates():
		a.update(name, fmt.Sprintf("nginx:1.%d", 20+a.people.IntN(9)))
	case draw < 85:
		isSpared := func(pod corev1.Pod) bool {
			_, isDecoy := pod.Labels[faults.DecoyLabel]
			return isDecoy || strings.HasPrefix(pod.Name, canaryPrefix)
		}
		if pods := slices.DeleteFunc(a.pods(), isSpared); len(pods) > 0 {
			a.churnPod(pods[a.people.IntN(len(pods))])
		}
	default:
		a.remove(name)
	}
}

// churnCreate creates an object. Another object may have had its name: if that is still terminating, the API server refuses, and
// nothing is wanted.
func (a *arena) churnCreate() {
	name := fmt.Sprintf("web-%d", a.people.IntN(churnOwners))
	if _, wanted := a.wants()[name]; wanted {
		return
	}
	owners, err := a.contender.owners(a.ctx, a.namespace)
	if err != nil || slices.ContainsFunc(owners, func(o owner) bool { return o.name == name }) {
		return // the old object is still terminating
	}
	a.create(name, a.people.IntN(churnReplicas+1), ownerOptions{spec: func(spec *v1.PodManagerSpec) {
		// Half of the objects are updated in place.
		if a.people.IntN(2) == 0 {
			spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible}
		}
	}})
}

// churnPod deletes a pod, with its grace period or at once, or changes its label so that its owner releases it.
func (a *arena) churnPod(pod corev1.Pod) {
	pods := a.cluster.Kube.CoreV1().Pods(a.namespace)
	switch draw := a.people.IntN(10); {
	case draw < 4:
		a.deletePod(pod.Name)
	case draw < 8:
		a.insist(func() error { return pods.Delete(a.ctx, pod.Name, metav1.DeleteOptions{}) })
		a.logf("delete pod %s with its grace period", pod.Name)
	default:
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:"nobody",%q:""}}}`, pod.UID, a.contender.selectorLabel(), faults.DecoyLabel)
		a.insist(func() error {
			_, err := pods.Patch(a.ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return ignoreConflict(err)
		})
		a.logf("relabel pod %s", pod.Name)
	}
}
