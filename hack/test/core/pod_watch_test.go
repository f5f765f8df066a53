//go:build e2e

package core

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// podWatch records every version of the namespace's pods, in order and over a connection of its own. Afterwards a test checks every state
// of the pods, however short: a poll would miss most of them. podWatch knows nothing of how the controller decides.
type podWatch struct {
	*space
	client typedcorev1.PodInterface
	// listed are the pods at the start.
	listed  []corev1.Pod
	started time.Time

	mu      sync.Mutex
	present map[types.UID]*corev1.Pod
	history []sighting
	// broken is why versions are missing.
	broken string
	// moments are the moments that a test waits for, see when.
	moments []moment
}

// sighting is one version of a pod, and when it was seen.
type sighting struct {
	*corev1.Pod
	event watch.EventType
	at    time.Time
}

type moment struct {
	is  func(pods []*corev1.Pod) bool
	now chan struct{}
}

// invariant says what is wrong with the pods at a time; empty if nothing is wrong.
type invariant func(pods []*corev1.Pod, at time.Time) string

// watchPods starts the watch. The pods at the start count, too.
func (s *space) watchPods() *podWatch {
	s.t.Helper()
	config := rest.CopyConfig(s.cluster.Config)
	config.Dial = (&net.Dialer{}).DialContext // otherwise client-go would share the connections of other clients
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := client.CoreV1().Pods(s.name).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	w := &podWatch{space: s, client: client.CoreV1().Pods(s.name), listed: list.Items, started: time.Now()}
	w.present = w.atStart()
	go w.follow(list.ResourceVersion)
	return w
}

func (w *podWatch) atStart() map[types.UID]*corev1.Pod {
	pods := map[types.UID]*corev1.Pod{}
	for i := range w.listed {
		pods[w.listed[i].UID] = &w.listed[i]
	}
	return pods
}

// follow watches until the test ends. If the API server ends the watch, because it is busy, follow opens it again at the last version.
func (w *podWatch) follow(version string) {
	for w.ctx.Err() == nil {
		watching, err := w.client.Watch(w.ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			lab.Pause(w.ctx, 100*time.Millisecond)
			continue
		}
		for event := range watching.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				version = pod.ResourceVersion
				w.see(sighting{pod, event.Type, time.Now()})
			} else if w.ctx.Err() == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.broken = fmt.Sprintf("the watch has missed versions of pods after %s: %+v", version, event.Object)
				return
			}
		}
	}
}

func (w *podWatch) see(seen sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, seen)
	seen.change(w.present)
	w.reach(inOrder(w.present))
}

// change applies a sighting to the pods.
func (s sighting) change(pods map[types.UID]*corev1.Pod) {
	if pods[s.UID] = s.Pod; s.event == watch.Deleted {
		delete(pods, s.UID)
	}
}

func inOrder(pods map[types.UID]*corev1.Pod) []*corev1.Pod {
	return slices.SortedFunc(maps.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}

// reach wakes tests whose moment has come.
func (w *podWatch) reach(pods []*corev1.Pod) {
	w.moments = slices.DeleteFunc(w.moments, func(m moment) bool {
		if m.is(pods) {
			close(m.now)
			return true
		}
		return false
	})
}

// when waits for a moment, and returns at once when it has come, not a poll later.
func (w *podWatch) when(what string, is func(pods []*corev1.Pod) bool) {
	w.t.Helper()
	now := make(chan struct{})
	w.mu.Lock()
	w.moments = append(w.moments, moment{is, now})
	w.reach(inOrder(w.present))
	w.mu.Unlock()
	select {
	case <-now:
	case <-time.After(patience):
		w.t.Fatalf("waited %v for %s; last seen: %v", patience, what, byImage(w.pods()))
	}
}

// past are all versions of pods up to now. It waits until the watch has caught up.
func (w *podWatch) past() []sighting {
	w.t.Helper()
	w.await("the watch to have shown all pods as they are", func() (any, bool) {
		want := versions(w.allPods())
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.broken != "" {
			w.t.Fatal(w.broken)
		}
		got := map[string]string{}
		for _, pod := range w.present {
			got[pod.Name] = pod.ResourceVersion
		}
		return got, maps.Equal(got, want)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.history)
}

// replay goes through all states of the pods so far, from the start on.
func (w *podWatch) replay(visit func(after string, pods []*corev1.Pod, at time.Time)) {
	w.t.Helper()
	past, pods := w.past(), w.atStart()
	w.t.Logf("%d versions of pods were seen", len(past))
	visit("the start", inOrder(pods), w.started)
	for _, seen := range past {
		seen.change(pods)
		visit(fmt.Sprintf("%s %s, version %s", strings.ToLower(string(seen.event)), seen.Name, seen.ResourceVersion), inOrder(pods), seen.at)
	}
}

// always fails the test if an invariant was broken at any time.
func (w *podWatch) always(holds invariant) {
	w.t.Helper()
	const most = 10 // to report
	count := 0
	w.replay(func(after string, pods []*corev1.Pod, at time.Time) {
		w.t.Helper()
		wrong := holds(pods, at)
		if wrong == "" {
			return
		}
		if count++; count <= most {
			w.t.Errorf("after %s: %s", after, wrong)
		}
	})
	if count > most {
		w.t.Errorf("and %d more", count-most)
	}
}

// extremes are the minimum and the maximum of a count over all states of the pods.
func (w *podWatch) extremes(count func(pods []*corev1.Pod) int) (least, most int) {
	w.t.Helper()
	least, most = count(inOrder(w.atStart())), 0
	w.replay(func(_ string, pods []*corev1.Pod, _ time.Time) {
		now := count(pods)
		least, most = min(least, now), max(most, now)
	})
	return least, most
}

// nothingMoved fails the test if a pod was created or deleted.
func (w *podWatch) nothingMoved() {
	w.t.Helper()
	for _, seen := range w.past() {
		switch seen.event {
		case watch.Added:
			w.t.Errorf("pod %s came", seen.Name)
		case watch.Deleted:
			w.t.Errorf("pod %s left", seen.Name)
		}
	}
}
