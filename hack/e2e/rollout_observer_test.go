//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// rolloutSpec is a spec with the limits of a rolling update; more has the rest, the image or template included.
func rolloutSpec(replicas int, limits, more string) string {
	return fmt.Sprintf("{replicas: %d, updateStrategy: {rollingUpdate: {%s}}, %s}", replicas, limits, more)
}

// revision is the hash that pods of the PodManager's present template are labelled with.
func revision(manager *v1.PodManager) string {
	return strings.TrimPrefix(manager.Status.UpdateRevision, manager.Name+"-")
}

// ofImage are the pods whose first container has the image, as their spec says.
func ofImage(pods []corev1.Pod, image string) []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range pods {
		if pod.Spec.Containers[0].Image == image {
			found = append(found, pod)
		}
	}
	return found
}

// versions are the pods' resourceVersions, which tell whether anybody has written to one.
func versions(pods []corev1.Pod) map[string]string {
	byName := map[string]string{}
	for _, pod := range pods {
		byName[pod.Name] = pod.ResourceVersion
	}
	return byName
}

// serves tells whether a pod can be relied on at this version of it: it is ready, nothing keeps it out of its Services, and
// its node has caught up with its spec. The last two are ahead of the Ready condition, which the node sets.
func serves(pod *corev1.Pod) bool {
	is := map[corev1.PodConditionType]bool{}
	for _, condition := range pod.Status.Conditions {
		is[condition.Type] = condition.Status == corev1.ConditionTrue
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !is[gate.ConditionType] {
			return false
		}
	}
	return is[corev1.PodReady] && pod.Status.Phase == corev1.PodRunning && pod.Status.ObservedGeneration >= pod.Generation
}

// servesImage is for images that are ready now and then, but never to be relied on.
func servesImage(image string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return serves(pod) && pod.Spec.Containers[0].Image == image }
}

// observer sees every version of every pod in a namespace, in their order.
type observer struct {
	s      *space
	isGood func(*corev1.Pod) bool

	mu   sync.Mutex
	pods map[string]*corev1.Pod
	// fewest is how many good pods there were at the least, most how many active pods at the most; scene and crowd are what
	// the pods were like then.
	fewest, most int
	scene, crowd string
	// came and left are the pods that were created and deleted.
	came, left map[types.UID]string
	history    []sighting
}

// sighting is one version of a pod, and when it was seen.
type sighting struct {
	*corev1.Pod
	at time.Time
}

// observe starts to look, with an eye on pods that are good.
func (s *space) observe(isGood func(*corev1.Pod) bool) *observer {
	s.t.Helper()
	list, err := shared.kube.CoreV1().Pods(s.name).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	watching, err := shared.kube.CoreV1().Pods(s.name).Watch(s.ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(watching.Stop)
	w := &observer{s: s, isGood: isGood, pods: map[string]*corev1.Pod{}, fewest: len(list.Items),
		came: map[types.UID]string{}, left: map[types.UID]string{}}
	for i := range list.Items {
		w.pods[list.Items[i].Name] = &list.Items[i]
	}
	w.count()
	go func() {
		for event := range watching.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				w.see(event.Type, pod)
			}
		}
	}()
	return w
}

func (w *observer) see(kind watch.EventType, pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, sighting{pod, time.Now()})
	switch kind {
	case watch.Added:
		w.came[pod.UID] = pod.Name
	case watch.Deleted:
		w.left[pod.UID] = pod.Name
	}
	if kind == watch.Deleted {
		delete(w.pods, pod.Name)
	} else {
		w.pods[pod.Name] = pod
	}
	w.count()
}

// count looks at all pods as they are at one version.
func (w *observer) count() {
	good, active := 0, 0
	scene := &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		if pod.DeletionTimestamp != nil {
			continue
		}
		active++
		if w.isGood(pod) {
			good++
			continue
		}
		fmt.Fprintf(scene, "\n%s %s at version %s: %s", name, pod.Spec.Containers[0].Image, pod.ResourceVersion, pod.Status.String())
	}
	if good < w.fewest {
		w.fewest, w.scene = good, scene.String()
	}
	if active > w.most {
		w.most, w.crowd = active, fmt.Sprint(slices.Sorted(maps.Keys(w.pods)))
	}
}

// saw waits until the observer has seen all that has happened so far, and returns it.
func (w *observer) saw() *observer {
	w.s.t.Helper()
	w.s.await("the observer to have seen all pods as they are", func() (any, bool) {
		want := versions(w.s.allPods())
		w.mu.Lock()
		defer w.mu.Unlock()
		got := map[string]string{}
		for name, pod := range w.pods {
			got[name] = pod.ResourceVersion
		}
		return got, maps.Equal(got, want)
	})
	return w
}

// within fails the test if there ever were fewer good pods, or more active ones.
func (w *observer) within(fewest, most int) {
	w.s.t.Helper()
	w.saw()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s.t.Logf("of %d versions, the fewest good pods were %d, the most active %d", len(w.history), w.fewest, w.most)
	if w.fewest < fewest {
		w.s.t.Errorf("at one time there were only %d good pods, want %d; the others:%s", w.fewest, fewest, w.scene)
	}
	if w.most > most {
		w.s.t.Errorf("at one time there were %d pods, want at most %d: %s", w.most, most, w.crowd)
	}
}

// nothingMoved fails the test if a pod came or left.
func (w *observer) nothingMoved() {
	w.s.t.Helper()
	w.saw()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.came)+len(w.left) > 0 {
		w.s.t.Errorf("pods came: %v, pods left: %v", w.came, w.left)
	}
}

// past are all versions of the pods so far.
func (w *observer) past() []sighting {
	w.s.t.Helper()
	w.saw()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.history)
}
