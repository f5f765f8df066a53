//go:build e2e

package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// sighting is a state that the API server has shown.
type sighting struct {
	// at is when the API server wrote it, by its own clock, truncated to seconds. It does not depend on when the witness got it.
	at time.Time
	// address is the pod's address. ready is what the pod, or its endpoint in the Service, reports. image and container are what runs in it.
	address, image, container string
	ready                     bool
	isEndpoint                bool
}

// witness records what happens to the pods and the endpoints of the namespace, in the order of arrival.
type witness struct {
	s    *space
	lock sync.Mutex
	seen []sighting
}

func (s *space) witness() *witness {
	s.T.Helper()
	w := &witness{s: s}
	ctx, cancel := context.WithCancel(context.Background())
	pods, err := shared.kube.CoreV1().Pods(s.Name).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	endpoints, err := shared.kube.DiscoveryV1().EndpointSlices(s.Name).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(cancel)
	go w.note(pods)
	go w.note(endpoints)
	return w
}

func (w *witness) note(events watch.Interface) {
	for event := range events.ResultChan() {
		w.lock.Lock()
		switch object := event.Object.(type) {
		case *corev1.Pod:
			for _, status := range object.Status.ContainerStatuses {
				w.seen = append(w.seen, sighting{at: writtenAt(object), address: object.Status.PodIP, ready: podstate.IsReady(object),
					image: object.Spec.Containers[0].Image, container: status.ContainerID})
			}
		case *discoveryv1.EndpointSlice:
			for _, endpoint := range object.Endpoints {
				w.seen = append(w.seen, sighting{at: writtenAt(object), address: endpoint.Addresses[0],
					isEndpoint: true, ready: isTrue(endpoint.Conditions.Ready)})
			}
		}
		w.lock.Unlock()
	}
}

func isTrue(value *bool) bool { return value != nil && *value }

// writtenAt returns when an object was last written.
func writtenAt(object metav1.Object) (latest time.Time) {
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	return latest
}

// leftBefore checks the order for a pod: not ready, out of the Service, another image, another container, in the Service. It also checks that the
// grace period lies between the first and the third. The endpoint may leave a moment after the pod has become unready: that is up to the
// EndpointSlice controller, and part of what the grace period is for.
func (w *witness) leftBefore(pod *corev1.Pod, grace int) {
	w.s.T.Helper()
	unready := w.first(pod, func(seen sighting) bool { return !seen.isEndpoint && !seen.ready })
	out := w.first(pod, func(seen sighting) bool { return seen.isEndpoint && !seen.ready })
	changed := w.first(pod, func(seen sighting) bool { return !seen.isEndpoint && seen.image != pod.Spec.Containers[0].Image })
	restarted := w.first(pod, func(seen sighting) bool {
		return !seen.isEndpoint && seen.container != pod.Status.ContainerStatuses[0].ContainerID
	})
	back := w.first(pod, func(seen sighting) bool { return seen.isEndpoint && seen.ready && !seen.at.Before(restarted) })
	story := fmt.Sprintf("not ready %v, out of the Service %v, changed %v, restarted %v, back %v", unready, out, changed, restarted, back)
	steps := []time.Time{unready, out, changed, restarted, back}
	if slices.ContainsFunc(steps, time.Time.IsZero) || !slices.IsSortedFunc(steps, time.Time.Compare) {
		w.s.T.Errorf("%s: wrong order: %s", pod.Name, story)
	}
	if waited := changed.Sub(unready); waited < time.Duration(grace)*time.Second {
		w.s.T.Errorf("%s was changed %v after it was not ready any more, want %d s: %s", pod.Name, waited, grace, story)
	}
}

// first returns when the first matching sighting of a pod or its endpoint was written; zero if there is none.
func (w *witness) first(pod *corev1.Pod, is func(sighting) bool) time.Time {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, seen := range w.seen {
		if seen.address == pod.Status.PodIP && is(seen) {
			return seen.at
		}
	}
	return time.Time{}
}

// awaitEndpoints waits until the Service has this many ready endpoints.
func (s *space) awaitEndpoints(count int) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%d endpoints", count), func() (any, bool) {
		list, err := shared.kube.DiscoveryV1().EndpointSlices(s.Name).List(s.T.Context(), metav1.ListOptions{})
		if err != nil {
			return err, false
		}
		ready := 0
		for _, slice := range list.Items {
			for _, endpoint := range slice.Endpoints {
				if isTrue(endpoint.Conditions.Ready) {
					ready++
				}
			}
		}
		return ready, ready == count
	})
}
