package simulate

import (
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/world"
)

// roomFor returns the limits on the pods of a PodManager. If a rollout needs a surge pod, and it is unknown whether there is room for one, the
// simulation assumes that there is, and roomFor returns a note. Nodes that are drained or lost are closed, whether or not they were cordoned before.
func (o Options) roomFor(m *v1.PodManager, drain *drainer) (room world.Room, notes []string) {
	room.Rejection, room.Refusal = o.Room.Rejection, o.Room.Refusal
	if !surge.IsNeeded(m) {
		return room, nil
	}
	read := o.Room
	read.Rejection = nil // the outcome says it
	if unknown := surge.Assess(m, read).Unknown; unknown != "" {
		notes = append(notes, unknown)
	}
	apart, mustBe := surge.ApartBy(m)
	if !mustBe || len(o.Room.Nodes) == 0 {
		return room, notes
	}
	room.Places, room.Unplaced, room.Closed = surge.Places(m, o.Room.Nodes), "no node is left: "+apart.Why, map[string]bool{}
	for i := range o.Room.Nodes {
		node := &o.Room.Nodes[i]
		if place, isOne := node.Labels[apart.Key]; isOne && drain.nodeOf(node.Name) != (leaving.Node{}) {
			room.Places[node.Name], room.Closed[node.Name] = place, true
		}
	}
	return room, notes
}

// waitsForRoom reports whether a rollout waits for a surge pod that gets no room.
func (o Options) waitsForRoom(m *v1.PodManager) bool {
	switch follow.Reason(m) {
	case v1.ReasonSurgeBlocked:
		return true
	case v1.ReasonForbidden:
		return o.Room.Refusal != nil && int(m.Status.Replicas) >= m.DesiredReplicas()
	default:
		return false
	}
}
