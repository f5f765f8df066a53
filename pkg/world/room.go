package world

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Room limits the pods of a course.
type Room struct {
	// Places is for pods that must not run together, for example not in the same zone. It maps each node that takes such pods to its place, and each
	// place has room for one pod. It is nil if pods may share nodes. Unplaced is the scheduler's message for a pod for which no place is left.
	Places   map[string]string
	Unplaced string
	// Closed are nodes that take no further pods: drained or lost ones. The pods that they have keep their places.
	Closed map[string]bool
	// Refusal is how the API server refuses more pods than there were at the start. It is nil if there may be any number.
	Refusal *requeue.Failure
	// Rejection is how the API server refuses every pod of the new revision. It is nil if it takes them.
	Rejection *requeue.Failure
}

// apart returns a node in a free place, or empty if there is none. A pod on a node that Places lacks takes one of the free places, too.
func (w *World) apart(p *corev1.Pod) string {
	places, taken, unknown := w.course.Room.Places, map[string]bool{}, 0
	for _, other := range w.Pods {
		place, known := places[other.Spec.NodeName]
		switch {
		case other.UID == p.UID || other.Spec.NodeName == "":
		case known:
			taken[place] = true
		default:
			unknown++
		}
	}
	free := map[string]string{}
	for _, node := range slices.Sorted(maps.Keys(places)) {
		if place := places[node]; !taken[place] && free[place] == "" && !w.course.Room.Closed[node] {
			free[place] = node
		}
	}
	if len(free) <= unknown {
		return ""
	}
	return cmp.Or(p.Spec.NodeName, slices.Min(slices.Collect(maps.Values(free))))
}

// A refused create is repeated with the controller's backoff, without its jitter. After mostRefusals refusals since the last pod has gone, it is not
// repeated before another pod has gone: until then there is no room.
const (
	mostRefusals = 20
	forEver      = 365 * 24 * time.Hour
)

// refused matches the part of a refusal that names a pod. Room.Refusal names a pod of the cluster, which is replaced by the name of the simulated
// pod.
var refused = regexp.MustCompile(`^(\w+) "[^"]*" is `)

// refuse refuses a pod that there is no room for, and holds back further ones. It returns nil if there is room.
func (w *World) refuse(key requeue.BackoffKey, creation plan.Creation) *requeue.Failure {
	if w.course == nil {
		return nil
	}
	refusal := w.course.Room.Rejection
	if refusal == nil || creation.Revision.Hash != w.updateHash {
		if refusal = w.course.Room.Refusal; refusal == nil || len(w.Pods) < w.atStart {
			return nil
		}
	}
	failure := *refusal
	failure.Message = refused.ReplaceAllString(failure.Message, fmt.Sprintf("$1 %q is ", podstate.PodName(w.Manager.Name, creation.Index)))
	next := w.backoffs[key].Refused(failure, w.Now, 0)
	if w.refusals++; w.refusals > mostRefusals {
		next.Until = w.Now.Add(forEver)
	}
	w.backoffs[key] = next
	w.logf("  create of %d refused: %s", creation.Index, failure.Message)
	return &failure
}

// noteRoom lets refused creates be repeated once a pod has gone, because there may be room now.
func (w *World) noteRoom() {
	w.refusals = 0
	for key, backoff := range w.backoffs {
		if latest := w.Now.Add(requeue.LastBackoff); w.course != nil && backoff.Until.After(latest) {
			backoff.Until = latest
			w.backoffs[key] = backoff
		}
	}
}
