package surge

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// WayOut is what the user can do if there is no room for a surge pod. The controller does not change the limits by itself, because fewer pods would
// then be available.
const WayOut = "make room for one more pod, or set maxUnavailable: 1 and maxSurge: 0"

// Room is what was read about the room for one more pod.
type Room struct {
	// Nodes are the nodes of the cluster. They are read only if the pods have to be apart. NodesError is why they could not be read.
	Nodes      []corev1.Node
	NodesError error
	// Refusal is the API server's answer to one more pod if a quota has no room for it. RefusalError is why the answer is not known.
	Refusal      *requeue.Failure
	RefusalError error
	// Rejection is the API server's answer to one more pod if it refuses the pod for another reason, such as a field that is invalid. Unless
	// a policy treats this user differently, it would give the controller the same answer.
	Rejection *requeue.Failure
}

// Assessment is whether a surge pod finds room. Both fields are empty if nothing is known that would keep the pod from running.
type Assessment struct {
	// Obstacle is what keeps the pod from running.
	Obstacle string
	// Unknown is what could not be found out. It is empty if there is an obstacle.
	Unknown string
}

// IsNeeded reports whether a rollout that has to replace a pod can only begin with a surge pod, because no pod may be unavailable. That is
// the default for up to three replicas, because maxUnavailable is 25%, rounded down.
func IsNeeded(m *v1.PodManager) bool {
	return m.Strategy() == v1.RollingUpdateStrategy && m.PodUpdatePolicy() != v1.InPlaceOnly && m.DesiredReplicas() > 0 && m.MaxUnavailable() == 0
}

// Assess reports what would keep a surge pod of a PodManager from running beside all of its desired pods.
func Assess(m *v1.PodManager, room Room) Assessment {
	apart, mustBe := ApartBy(m)
	places := Places(m, room.Nodes)
	count := len(distinct(places))
	var unknown []string
	if mustBe && room.NodesError != nil {
		unknown = append(unknown, fmt.Sprintf("%s, and nodes cannot be read, so whether a node is left for a surge pod is not known: %v",
			apart.Why, room.NodesError))
	}
	if room.RefusalError != nil {
		unknown = append(unknown, fmt.Sprintf("whether a quota has room for a surge pod is not known: %v", room.RefusalError))
	}
	if room.Rejection != nil {
		unknown = append(unknown, "whether there is room for a surge pod is not known: the API server refuses the pods: "+room.Rejection.Message)
	}
	switch {
	case room.Refusal != nil:
		return Assessment{Obstacle: fmt.Sprintf("quota %s has no room for a surge pod: %s", room.Refusal.Quota(), room.Refusal.Message)}
	case mustBe && room.NodesError == nil && count <= m.DesiredReplicas():
		return Assessment{Obstacle: fmt.Sprintf("no node is left for a surge pod: %s, and %s", apart.Why, apart.count(count))}
	default:
		return Assessment{Unknown: strings.Join(unknown, "; ")}
	}
}
