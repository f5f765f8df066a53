//go:build e2e

package e2enode

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// sighting is something that became visible at the API server.
type sighting struct {
	at time.Time
	// address is that of a pod; ready is what the pod, or its endpoint in the Service, says; image and container are what runs in it.
	address, image, container string
	ready                     bool
	isEndpoint                bool
}

// witness notes what happens to the pods and to the endpoints of the namespace, in the order of its coming.
type witness struct {
	s    *space
	lock sync.Mutex
	seen []sighting
}

func (s *space) witness() *witness {
	s.t.Helper()
	w := &witness{s: s}
	ctx, cancel := context.WithCancel(context.Background())
	pods, err := shared.kube.CoreV1().Pods(s.name).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	slices, err := shared.kube.DiscoveryV1().EndpointSlices(s.name).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cancel)
	go w.note(pods)
	go w.note(slices)
	return w
}

func (w *witness) note(events watch.Interface) {
	for event := range events.ResultChan() {
		w.lock.Lock()
		switch object := event.Object.(type) {
		case *corev1.Pod:
			for _, status := range object.Status.ContainerStatuses {
				w.seen = append(w.seen, sighting{at: time.Now(), address: object.Status.PodIP, ready: podstate.IsReady(object),
					image: object.Spec.Containers[0].Image, container: status.ContainerID})
			}
		case *discoveryv1.EndpointSlice:
			for _, endpoint := range object.Endpoints {
				w.seen = append(w.seen, sighting{at: time.Now(), address: endpoint.Addresses[0],
					isEndpoint: true, ready: isTrue(endpoint.Conditions.Ready)})
			}
		}
		w.lock.Unlock()
	}
}

func isTrue(value *bool) bool { return value != nil && *value }

// leftBefore checks the order for a pod: not ready, out of the Service, another image, another container, in the Service; and that the
// grace period lies between the first and the third. The endpoint may leave a moment later than the pod is not ready any more: that is up to
// the controller of EndpointSlices, and part of what the grace period is for.
func (w *witness) leftBefore(pod *corev1.Pod, grace int) {
	w.s.t.Helper()
	w.lock.Lock()
	defer w.lock.Unlock()
	var unready, out, changed, restarted, back time.Time
	for _, seen := range w.seen {
		if seen.address == pod.Status.PodIP && !seen.isEndpoint && !seen.ready && unready.IsZero() {
			unready = seen.at
		}
		switch {
		case seen.address != pod.Status.PodIP:
		case seen.isEndpoint && !seen.ready && out.IsZero():
			out = seen.at
		case seen.isEndpoint && seen.ready && !restarted.IsZero() && back.IsZero():
			back = seen.at
		case !seen.isEndpoint && seen.image != pod.Spec.Containers[0].Image && changed.IsZero():
			changed = seen.at
		case !seen.isEndpoint && seen.container != pod.Status.ContainerStatuses[0].ContainerID && restarted.IsZero():
			restarted = seen.at
		}
	}
	story := fmt.Sprintf("not ready %v, out of the Service %v, changed %v, restarted %v, back %v", unready, out, changed, restarted, back)
	if unready.IsZero() || out.IsZero() || !changed.After(out) || !restarted.After(changed) || !back.After(restarted) {
		w.s.t.Errorf("%s: wrong order: %s", pod.Name, story)
	}
	// What is seen here may be late, and so be a little less.
	if waited := changed.Sub(unready); waited < time.Duration(grace)*time.Second-500*time.Millisecond {
		w.s.t.Errorf("%s was changed %v after it was not ready any more, want %d s: %s", pod.Name, waited, grace, story)
	}
}

// awaitEndpoints waits until the Service has so many endpoints that are ready.
func (s *space) awaitEndpoints(count int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d endpoints", count), func() (any, bool) {
		list, err := shared.kube.DiscoveryV1().EndpointSlices(s.name).List(s.t.Context(), metav1.ListOptions{})
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
