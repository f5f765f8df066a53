package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// churnOwners is the most objects that there are at one time, churnReplicas the most pods of one.
	churnOwners, churnReplicas = 6, 8
	// churnPause is how long people take between two deeds, at most.
	churnPause = 250 * time.Millisecond
)

// churn creates, scales, edits, relabels and deletes at random until ctx is done.
func (a *arena) churn(ctx context.Context) {
	for ctx.Err() == nil {
		a.churnOnce()
		lab.Pause(ctx, time.Duration(a.people.Int64N(int64(churnPause))))
	}
}

// churnOnce does one thing. Scaling and the loss of pods are what happens most.
func (a *arena) churnOnce() {
	names := slices.Sorted(maps.Keys(a.wants()))
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
		isDecoy := func(pod corev1.Pod) bool { _, decoy := pod.Labels[faults.DecoyLabel]; return decoy }
		if pods := slices.DeleteFunc(a.pods(), isDecoy); len(pods) > 0 {
			a.churnPod(pods[a.people.IntN(len(pods))])
		}
	default:
		a.remove(name)
	}
}

// churnCreate makes an object under a name that may have been in use, by one that may still be about to go: then the
// API server refuses, and nothing is wanted.
func (a *arena) churnCreate() {
	name := fmt.Sprintf("web-%d", a.people.IntN(churnOwners))
	if _, wanted := a.wants()[name]; wanted {
		return
	}
	owners, err := a.contender.owners(a.ctx, a.namespace)
	if err != nil || slices.ContainsFunc(owners, func(o owner) bool { return o.name == name }) {
		return // still on its way out
	}
	a.create(name, a.people.IntN(churnReplicas+1), ownerOptions{spec: func(spec *v1.PodManagerSpec) {
		// Half of them are updated in place.
		if a.people.IntN(2) == 0 {
			spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible}
		}
	}})
}

// churnPod deletes a pod, politely or not, or takes it away from its owner by a label.
func (a *arena) churnPod(pod corev1.Pod) {
	pods := a.cluster.Kube.CoreV1().Pods(a.namespace)
	switch draw := a.people.IntN(10); {
	case draw < 4:
		a.deletePod(pod.Name)
	case draw < 8:
		a.insist(func() error { return pods.Delete(a.ctx, pod.Name, metav1.DeleteOptions{}) })
		a.logf("delete pod %s politely", pod.Name)
	default:
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:"nobody",%q:""}}}`, pod.UID, a.contender.selectorLabel(), faults.DecoyLabel)
		a.insist(func() error {
			_, err := pods.Patch(a.ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return ignoreConflict(err)
		})
		a.logf("relabel pod %s", pod.Name)
	}
}
