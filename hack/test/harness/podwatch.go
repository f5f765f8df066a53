package harness

import (
	"cmp"
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
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// PodWatch records every version of the namespace's pods, in order and over a separate connection. Afterwards a test checks every state of the
// pods, however short. A poll would miss most of them. PodWatch knows nothing of how the controller decides.
type PodWatch struct {
	space  *Space
	client typedcorev1.PodInterface
	// listed are the pods at the start.
	listed  []corev1.Pod
	started time.Time

	mu      sync.Mutex
	present map[types.UID]*corev1.Pod
	history []Sighting
	// broken is why versions are missing; empty if none are.
	broken string
	// moments are the moments that tests wait for; see When.
	moments []moment
}

// Sighting is one version of a pod, and when it was seen.
type Sighting struct {
	*corev1.Pod
	Event watch.EventType
	At    time.Time
}

type moment struct {
	is  func(pods []*corev1.Pod) bool
	now chan struct{}
}

// Invariant returns what is wrong with the pods at a time; an empty string if nothing is wrong.
type Invariant func(pods []*corev1.Pod, at time.Time) string

// WatchPods starts the watch. The pods at the start count, too.
func (s *Space) WatchPods() *PodWatch {
	s.T.Helper()
	client, err := SeparateClient(s.Cluster.Config)
	if err != nil {
		s.T.Fatal(err)
	}
	list, err := client.CoreV1().Pods(s.Name).List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	w := &PodWatch{space: s, client: client.CoreV1().Pods(s.Name), listed: list.Items, started: time.Now()}
	w.present = w.atStart()
	go w.follow(list.ResourceVersion)
	return w
}

func (w *PodWatch) atStart() map[types.UID]*corev1.Pod {
	pods := map[types.UID]*corev1.Pod{}
	for i := range w.listed {
		pods[w.listed[i].UID] = &w.listed[i]
	}
	return pods
}

// follow watches until the test ends. If the API server ends the watch because it is busy, follow reopens it at the last version.
func (w *PodWatch) follow(version string) {
	ctx := w.space.Ctx
	for ctx.Err() == nil {
		watching, err := w.client.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			lab.Pause(ctx, 100*time.Millisecond)
			continue
		}
		for event := range watching.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				version = pod.ResourceVersion
				w.see(Sighting{pod, event.Type, time.Now()})
			} else if ctx.Err() == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.broken = fmt.Sprintf("the watch has missed versions of pods after %s: %+v", version, event.Object)
				return
			}
		}
	}
}

func (w *PodWatch) see(seen Sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, seen)
	seen.change(w.present)
	w.reach(inOrder(w.present))
}

// change applies a sighting to the pods.
func (s Sighting) change(pods map[types.UID]*corev1.Pod) {
	if pods[s.UID] = s.Pod; s.Event == watch.Deleted {
		delete(pods, s.UID)
	}
}

func inOrder(pods map[types.UID]*corev1.Pod) []*corev1.Pod {
	return slices.SortedFunc(maps.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}

// reach wakes the tests whose moment has come.
func (w *PodWatch) reach(pods []*corev1.Pod) {
	w.moments = slices.DeleteFunc(w.moments, func(m moment) bool {
		if m.is(pods) {
			close(m.now)
			return true
		}
		return false
	})
}

// When waits for a moment. It returns as soon as the watch shows it, without polling.
func (w *PodWatch) When(what string, is func(pods []*corev1.Pod) bool) {
	w.space.T.Helper()
	now := make(chan struct{})
	w.mu.Lock()
	w.moments = append(w.moments, moment{is, now})
	w.reach(inOrder(w.present))
	w.mu.Unlock()
	for began := time.Now(); ; {
		select {
		case <-now:
			return
		case <-time.After(lastPoll):
		}
		if waited := time.Since(began); waited > Scaled(Patience) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.space.T.Fatalf("waited %v for %s; last seen: %v", waited.Round(time.Second), what, imagesOf(w.present))
		}
	}
}

func imagesOf(pods map[types.UID]*corev1.Pod) map[string]string {
	images := map[string]string{}
	for _, pod := range pods {
		images[pod.Name] = pod.Spec.Containers[0].Image
	}
	return images
}

// Past returns all versions of pods up to now. It waits until the watch has caught up.
func (w *PodWatch) Past() []Sighting {
	w.space.T.Helper()
	w.space.Await("the watch to have shown all pods as they are", func() (any, bool) {
		want := map[string]string{}
		for _, pod := range w.space.AllPods() {
			want[pod.Name] = pod.ResourceVersion
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.broken != "" {
			w.space.T.Fatal(w.broken)
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

// Replay goes through all states of the pods so far, beginning at the start.
func (w *PodWatch) Replay(visit func(after string, pods []*corev1.Pod, at time.Time)) {
	w.space.T.Helper()
	past, pods := w.Past(), w.atStart()
	w.space.T.Logf("%d versions of pods were seen", len(past))
	visit("the start", inOrder(pods), w.started)
	for _, seen := range past {
		seen.change(pods)
		visit(fmt.Sprintf("%s %s, version %s", strings.ToLower(string(seen.Event)), seen.Name, seen.ResourceVersion), inOrder(pods), seen.At)
	}
}

// Always fails the test if an invariant was violated at any time.
func (w *PodWatch) Always(holds Invariant) {
	w.space.T.Helper()
	const most = 10 // violations to report
	count := 0
	w.Replay(func(after string, pods []*corev1.Pod, at time.Time) {
		w.space.T.Helper()
		wrong := holds(pods, at)
		if wrong == "" {
			return
		}
		if count++; count <= most {
			w.space.T.Errorf("after %s: %s", after, wrong)
		}
	})
	if count > most {
		w.space.T.Errorf("and %d more", count-most)
	}
}

// Extremes returns the minimum and the maximum of a count over all states of the pods.
func (w *PodWatch) Extremes(count func(pods []*corev1.Pod) int) (least, most int) {
	w.space.T.Helper()
	least, most = count(inOrder(w.atStart())), 0
	w.Replay(func(_ string, pods []*corev1.Pod, _ time.Time) {
		now := count(pods)
		least, most = min(least, now), max(most, now)
	})
	return least, most
}

// NothingMoved fails the test if a pod was created or deleted.
func (w *PodWatch) NothingMoved() {
	w.space.T.Helper()
	for _, seen := range w.Past() {
		switch seen.Event {
		case watch.Added:
			w.space.T.Errorf("pod %s came", seen.Name)
		case watch.Deleted:
			w.space.T.Errorf("pod %s left", seen.Name)
		}
	}
}
