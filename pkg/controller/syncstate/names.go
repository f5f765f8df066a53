package syncstate

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Names has the pod names for which the cache is not enough: a pod of that name may exist although the cache does not show it. Only a live read of
// the name can tell. The zero value has none. It is safe for concurrent use.
type Names struct {
	mu     sync.Mutex
	byName map[string]unsettledName
}

// unsettledName is a name, and the pod that uses it although the cache will never show that pod. The pod is nil until a live read has found one.
type unsettledName struct {
	pod     *corev1.Pod
	due     time.Time // when to read the name again
	backoff time.Duration
}

// The delay between live reads of a name that is in use doubles from minRecheck to maxRecheck.
const minRecheck, maxRecheck = 5 * time.Second, 5 * time.Minute

// MarkUnsettled makes the next sync read the name live: the response to a create was lost, the pod left the cache without a deletionTimestamp, or the
// pod has lost our label and is yet to be released.
func (n *Names) MarkUnsettled(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	entry := n.byName[name]
	entry.due = time.Time{}
	n.set(name, entry)
}

func (n *Names) set(name string, entry unsettledName) {
	if n.byName == nil {
		n.byName = map[string]unsettledName{}
	}
	n.byName[name] = entry
}

// Unsettled returns the names to read now. The caller passes each to Settle, or to MarkUnsettled if the read failed.
func (n *Names) Unsettled(now time.Time) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.byName)) {
		if entry := n.byName[name]; !now.Before(entry.due) {
			entry.backoff = max(minRecheck, min(2*entry.backoff, maxRecheck))
			entry.due = now.Add(entry.backoff)
			n.set(name, entry)
			names = append(names, name)
		}
	}
	return names
}

// Settle records the result of a live read: the pod that uses the name and that the cache will never show, or nil if there is no such pod. If the name
// was marked again during the read, the next sync reads it again.
func (n *Names) Settle(name string, pod *corev1.Pod, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	entry, found := n.byName[name]
	switch {
	case pod == nil && found && entry.due.IsZero():
	case pod == nil:
		delete(n.byName, name)
	case !found:
		n.set(name, unsettledName{pod: pod, due: now.Add(minRecheck)})
	default:
		entry.pod = pod
		n.set(name, entry)
	}
}

// Outside returns the pods that live reads have found and that the cache will never show, sorted by name.
func (n *Names) Outside() (pods []*corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.byName)) {
		if pod := n.byName[name].pod; pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// NextRecheck returns when the next name in use has to be read again.
func (n *Names) NextRecheck() (next requeue.Requeue) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, entry := range n.byName {
		next = next.Sooner(requeue.Requeue{At: entry.due, Why: requeue.RequeueName})
	}
	return next
}
