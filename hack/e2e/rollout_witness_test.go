//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
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
	"k8s.io/client-go/tools/clientcmd"
)

// witness sees every version of the namespace's pods, over a connection of its own, and judges each state that they pass
// through. It knows nothing of how the controller decides.
type witness struct {
	*space
	// judge says what is wrong with the pods there are at a time; empty if nothing is.
	judge  func(pods []*corev1.Pod, now time.Time) string
	client typedcorev1.PodInterface

	mu       sync.Mutex
	pods     map[types.UID]*corev1.Pod
	versions int
	wrong    []string
	// moments are what somebody waits for; see when.
	moments []moment
}

type moment struct {
	is  func(pods []*corev1.Pod) bool
	now chan struct{}
}

// watchPods starts to watch. The pods that there are at the start are judged too.
func (s *space) watchPods(judge func(pods []*corev1.Pod, now time.Time) string) *witness {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		s.t.Fatal(err)
	}
	config.Dial = (&net.Dialer{}).DialContext // or client-go would share the connections of other clients
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := client.CoreV1().Pods(s.name).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	w := &witness{space: s, judge: judge, client: client.CoreV1().Pods(s.name), pods: map[types.UID]*corev1.Pod{}}
	for i := range list.Items {
		w.pods[list.Items[i].UID] = &list.Items[i]
	}
	w.look("the start")
	go w.follow(list.ResourceVersion)
	return w
}

// follow watches until the test ends. A watch that the API server ends, as it does when it is busy, is taken up again
// where it ended.
func (w *witness) follow(version string) {
	for w.ctx.Err() == nil {
		watching, err := w.client.Watch(w.ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for event := range watching.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				version = pod.ResourceVersion
				w.see(event.Type, pod)
			} else if w.ctx.Err() == nil {
				w.fail(fmt.Sprintf("the witness has missed versions after %s: %+v", version, event.Object))
				return
			}
		}
	}
}

func (w *witness) fail(wrong string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, wrong)
}

func (w *witness) see(kind watch.EventType, pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pods[pod.UID] = pod; kind == watch.Deleted {
		delete(w.pods, pod.UID)
	}
	w.versions++
	w.look(fmt.Sprintf("%s %s, version %s", strings.ToLower(string(kind)), pod.Name, pod.ResourceVersion))
}

// look judges the present state.
func (w *witness) look(after string) {
	var pods []*corev1.Pod
	for _, pod := range w.pods {
		pods = append(pods, pod)
	}
	if wrong := w.judge(pods, time.Now()); wrong != "" {
		w.wrong = append(w.wrong, after+": "+wrong)
	}
	w.moments = slices.DeleteFunc(w.moments, func(m moment) bool {
		if m.is(pods) {
			close(m.now)
			return true
		}
		return false
	})
}

// when waits for a moment, and returns in the midst of it: what is to happen at once is not a poll late.
func (w *witness) when(what string, is func(pods []*corev1.Pod) bool) {
	w.t.Helper()
	now := make(chan struct{})
	w.mu.Lock()
	w.moments = append(w.moments, moment{is, now})
	w.look(what)
	w.mu.Unlock()
	select {
	case <-now:
	case <-time.After(patience):
		w.t.Fatalf("waited %v for %s; last seen: %v", patience, what, byImage(w.space.pods()))
	}
}

// verdict waits until the watch has shown all that has happened so far, and fails the test if any of it was wrong.
func (w *witness) verdict() {
	w.t.Helper()
	list := w.allPods()
	w.await("the witness to have seen all", func() (any, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, pod := range list {
			if seen := w.pods[pod.UID]; seen == nil || seen.ResourceVersion != pod.ResourceVersion {
				return pod.Name + " " + pod.ResourceVersion, len(w.wrong) > 0
			}
		}
		return "", len(w.pods) == len(list)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, wrong := range w.wrong {
		if i == 10 {
			w.t.Errorf("and %d more", len(w.wrong)-i)
			break
		}
		w.t.Error(wrong)
	}
	w.t.Logf("the witness saw %d versions", w.versions)
}

func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// withinBudget judges that there are never too many active pods, nor too few that have been ready for long enough.
func withinBudget(most, least int, minReady time.Duration) func([]*corev1.Pod, time.Time) string {
	return func(pods []*corev1.Pod, now time.Time) string {
		active, available := 0, 0
		for _, pod := range pods {
			if !isActive(pod) {
				continue
			}
			active++
			if since := readySince(pod); !since.IsZero() && !since.Add(minReady).After(now) {
				available++
			}
		}
		if active > most || available < least {
			return fmt.Sprintf("%d active (at most %d), %d available (at least %d)", active, most, available, least)
		}
		return ""
	}
}

// byImage counts pods by the image of their first container.
func byImage(pods []corev1.Pod) map[string]int {
	counts := map[string]int{}
	for _, pod := range pods {
		counts[pod.Spec.Containers[0].Image]++
	}
	return counts
}

// running tells whether that many active pods run an image.
func running(image string, count int) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool {
		found := 0
		for _, pod := range pods {
			if isActive(pod) && pod.Spec.Containers[0].Image == image {
				found++
			}
		}
		return found >= count
	}
}
