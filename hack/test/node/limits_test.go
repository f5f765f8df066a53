//go:build e2e

package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// limits checks every state that the pods of a namespace pass through, in the order of the API server.
type limits struct {
	s *space
	// least is how many pods have to be available, most is how many pods there may be, except terminating ones.
	least, most int

	lock   sync.Mutex
	pods   map[string]*corev1.Pod
	states int
	beyond bool
	broken []string
}

// limits starts to check the limits, beginning with the existing pods.
func (s *space) limits(least, most int) *limits {
	s.T.Helper()
	l := &limits{s: s, least: least, most: most, pods: map[string]*corev1.Pod{}}
	list, err := shared.kube.CoreV1().Pods(s.Name).List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, pod := range list.Items {
		l.pods[pod.Name] = &pod
	}
	ctx, stop := context.WithCancel(context.Background())
	s.T.Cleanup(stop)
	events, err := shared.kube.CoreV1().Pods(s.Name).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		s.T.Fatal(err)
	}
	go l.follow(ctx, events)
	return l
}

func (l *limits) follow(ctx context.Context, events watch.Interface) {
	for event := range events.ResultChan() {
		l.lock.Lock()
		if pod, ok := event.Object.(*corev1.Pod); !ok {
			l.broken = append(l.broken, fmt.Sprintf("the watch says %s: %v", event.Type, event.Object))
		} else if l.pods[pod.Name] = pod; event.Type == watch.Deleted {
			delete(l.pods, pod.Name)
		}
		l.judge()
		l.lock.Unlock()
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if ctx.Err() == nil {
		l.broken = append(l.broken, "the watch has ended")
	}
}

func (l *limits) judge() {
	available, there, story := 0, 0, ""
	for _, name := range slices.Sorted(maps.Keys(l.pods)) {
		pod := l.pods[name]
		if pod.DeletionTimestamp != nil {
			continue
		}
		there++
		if podstate.IsReady(pod) {
			available++
		}
		story += fmt.Sprintf("; %s of %s, ready %t", pod.Name, pod.Spec.Containers[0].Image, podstate.IsReady(pod))
	}
	l.states++
	was := l.beyond
	if l.beyond = available < l.least || there > l.most; l.beyond && !was {
		l.broken = append(l.broken, fmt.Sprintf("%d pods, %d available%s", there, available, story))
	}
}

// held checks that the limits held at all times.
func (l *limits) held() {
	l.s.T.Helper()
	l.lock.Lock()
	defer l.lock.Unlock()
	l.s.T.Logf("%d states of the pods were seen", l.states)
	if l.states == 0 {
		l.s.T.Error("no state of the pods was seen")
	}
	for _, broken := range l.broken {
		l.s.T.Errorf("want at least %d available and at most %d: %s", l.least, l.most, broken)
	}
}
