package sim

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/shard"
)

// leaseName is the name of the Lease of a single leader, and the beginning of the names of the shards' Leases.
const leaseName = "podmanager-controller"

// holding is who holds a Lease, as the API server last saw it.
type holding struct {
	identity, process string
	until             time.Time // when the Lease expires for its holder, who counts from when it sent the renewal
}

// seeLease notes who holds a Lease. A replica may also write a Lease that another one holds, to ask for it.
func (j *judge) seeLease(c *apiserver.Change) {
	lease, exists := c.New.(*coordinationv1.Lease)
	if !exists || !isReplica(c.Request) {
		delete(j.leases, c.Request.Name)
		return
	}
	identity := ptr.Deref(lease.Spec.HolderIdentity, "")
	before := j.leases[lease.Name]
	if identity != "" && identity == before.identity && c.Request.Client != before.process {
		return
	}
	j.leases[lease.Name] = holding{identity, c.Request.Client, j.sent[c.Request].Add(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second)}
}

// checkHolder checks that a process held the Lease of a PodManager when it sent a write to one of its objects. The write may arrive much later. A pod
// that a user has given the label of another shard is seen by that shard's holder, who gives it back.
func (j *judge) checkHolder(c *apiserver.Change) {
	sent, deployed := j.heldAt[c.Request], j.deployed[c.Request.Client]
	if !deployed.elects || j.wasRewound || sent == nil {
		return
	}
	if before := c.Old; before != nil && sent[leaseName+"-shard-"+before.GetLabels()[v1.LabelShard]] {
		return
	}
	for _, manager := range managersOf(c) {
		name := leaseName
		if deployed.shards > 0 {
			name = fmt.Sprintf("%s-shard-%v", leaseName, shard.Of(c.Request.Namespace, manager, deployed.shards))
		}
		if sent[name] {
			return
		}
	}
	j.violate("%s did not hold the Lease when it sent this: %v", c.Request.Client, c.Request)
}

// held returns the Leases that a process holds now.
func (j *judge) held(process string) map[string]bool {
	held := map[string]bool{}
	for name, holder := range j.leases {
		held[name] = holder.process == process && holder.identity != "" && !time.Now().After(holder.until)
	}
	return held
}

// managersOf returns the names of the PodManagers that a change may concern: an object may be on its way from one to another.
func managersOf(c *apiserver.Change) (names []string) {
	if c.Request.Resource.Name == "podmanagers" {
		return []string{c.Request.Name}
	}
	for _, o := range []apiserver.Object{c.Old, c.New} {
		if o == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			names = append(names, owner.Name)
		}
		names = append(names, o.GetLabels()[v1.LabelManager], o.GetName()[:max(0, strings.LastIndex(o.GetName(), "-"))])
	}
	return names
}

// started notes how a process is configured.
func (j *judge) started(process string, deployed settings) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.deployed[process] = deployed
}
