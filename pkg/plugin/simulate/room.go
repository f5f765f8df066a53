package simulate

import (
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/world"
)

// roomFor returns the limits on the pods of a PodManager that needs a surge pod for a rollout, and a note if it is unknown whether such a pod finds
// room: the simulation then has room for it.
func (o Options) roomFor(m *v1.PodManager) (room world.Room, notes []string) {
	if !surge.IsNeeded(m) {
		return room, nil
	}
	if o.Room.NodesError != nil {
		notes = append(notes, surge.Judge(m, o.Room).Unknown)
	}
	room.Refusal = o.Room.Refusal
	if len(o.Room.Nodes) > 0 {
		apart, _ := surge.ApartBy(m)
		room.Places, room.Unplaced = surge.Places(m, o.Room.Nodes), "no node is left: "+apart.Why
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
