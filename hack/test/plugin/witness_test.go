//go:build e2e

package plugin

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
)

// witness sees every version of the pods of a namespace, and tells what was done to them.
type witness struct {
	s    *space
	pods map[types.UID]*corev1.Pod

	lock    sync.Mutex
	actions []string
	// lowest and most are how many pods were available at the least, and active at the most.
	lowest, most int
	// ended tells that the pod has come that marks the end.
	ended bool
}

// lastPod is a pod that nobody schedules. Who sees it has seen everything before.
const lastPod = "the-end"

// watchPods starts to watch. From the pods that there are on, nothing is missed.
func (s *space) watchPods() *witness {
	s.t.Helper()
	w := &witness{s: s, pods: map[types.UID]*corev1.Pod{}}
	client := shared.cluster.Kube.CoreV1().Pods(s.name)
	list, err := client.List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range list.Items {
		w.pods[list.Items[i].UID] = &list.Items[i]
	}
	w.lowest, w.most = w.count()
	events, err := client.Watch(s.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod {
				w.see(event.Type, pod)
			}
		}
	}()
	return w
}

func (w *witness) see(kind watch.EventType, pod *corev1.Pod) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if pod.Name == lastPod {
		w.ended = true
		return
	}
	before, found := w.pods[pod.UID]
	hadEnded := found && before.DeletionTimestamp != nil
	switch {
	case !found && kind != watch.Deleted:
		w.actions = append(w.actions, simulate.Created+" "+pod.Name)
	case found && !hadEnded && (kind == watch.Deleted || pod.DeletionTimestamp != nil):
		w.actions = append(w.actions, simulate.Deleted+" "+pod.Name)
	case found && before.Labels[v1.LabelRevision] != pod.Labels[v1.LabelRevision]:
		w.actions = append(w.actions, simulate.Updated+" "+pod.Name)
	}
	if w.pods[pod.UID] = pod; kind == watch.Deleted {
		delete(w.pods, pod.UID)
	}
	available, active := w.count()
	w.lowest, w.most = min(w.lowest, available), max(w.most, active)
}

func (w *witness) count() (available, active int) {
	for _, pod := range w.pods {
		if pod.DeletionTimestamp != nil || podstate.IsFinished(pod) {
			continue
		}
		active++
		if health.IsAvailable(pod, 0, time.Now()) {
			available++
		}
	}
	return available, active
}

// finish waits until everything was seen that has happened so far.
func (w *witness) finish() {
	w.s.t.Helper()
	end := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: lastPod},
		Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}}, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	if _, err := shared.cluster.Kube.CoreV1().Pods(w.s.name).Create(w.s.t.Context(), end, metav1.CreateOptions{}); err != nil {
		w.s.t.Fatal(err)
	}
	w.s.await("the witness to have seen everything", func() (any, bool) {
		w.lock.Lock()
		defer w.lock.Unlock()
		return w.actions, w.ended
	})
}
