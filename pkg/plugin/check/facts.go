package check

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/policy"
)

// Facts are the facts that were read from a cluster.
type Facts struct {
	// Server and ServerVersion are the address and the version of the API server.
	Server, ServerVersion string
	// Resources are the resources of PodManagers that are served, such as podmanagers/scale. There are none if the CRD is missing.
	Resources []string
	// Unknown lists fields of this version's API that the CRD in the cluster does not have. SchemaError is why they could not be determined.
	Unknown     []string
	SchemaError error

	// Namespace is the namespace of the controller. Lease is its Lease. It is nil if there is none, or if it could not be read because of
	// LeaseError.
	Namespace  string
	Lease      *coordinationv1.Lease
	LeaseError error
	// ShardLeases are the Leases of the shards and replicas if replicas share the work. ShardsError is why they could not be read.
	ShardLeases []coordinationv1.Lease
	ShardsError error
	// Controllers are the Deployments of the controller. ControllersError is why they could not be read.
	Controllers      []Controller
	ControllersError error

	// Rules are the rules of artifacts/policy.yaml that keep users from gaining permissions. RulesError is why they could not be read.
	Rules      []policy.Rule
	RulesError error

	// Rights are the permissions that the verbs need.
	Rights []Right
	// Resizes reports whether the API server has pods/resize.
	Resizes bool
	// Manager is the PodManager to check. It is nil if the user named none.
	Manager *v1.PodManager
	Now     time.Time
}

// ShardCount returns the number of shards that the replicas share, taken from the holder of the Lease. It is 0 if there is a single leader.
func (f *Facts) ShardCount() int {
	count := 0
	if f.Lease == nil || f.Lease.Spec.HolderIdentity == nil {
		return 0
	}
	if _, err := fmt.Sscanf(*f.Lease.Spec.HolderIdentity, "%d shards", &count); err != nil {
		return 0
	}
	return count
}

// Controller is a Deployment of the controller.
type Controller struct {
	Name      string
	Args      []string
	Available int32
}

// Right is a permission that verbs need, and whether the user has it.
type Right struct {
	Verb, Group, Resource, Subresource string
	// For lists the plugin's verbs that need the permission. Role is the built-in role that has it.
	For, Role string

	Allowed bool
	Err     error
}

// Rights returns the permissions that the plugin's verbs need.
func Rights() []Right {
	const ours = v1.GroupName
	return []Right{
		{Verb: "list", Group: ours, Resource: "podmanagers", For: "get", Role: "view"},
		{Verb: "watch", Group: ours, Resource: "podmanagers", For: "get -w, status", Role: "view"},
		{Verb: "list", Resource: "pods", For: "get, why, history", Role: "view"},
		{Verb: "list", Group: "apps", Resource: "controllerrevisions", For: "history, diff, undo", Role: "view"},
		{Verb: "list", Resource: "events", For: "why", Role: "view"},
		{Verb: "get", Resource: "pods", Subresource: "log", For: "why", Role: "view"},
		{Verb: "get", Group: "apps", Resource: "deployments", For: "convert", Role: "view"},
		{Verb: "patch", Group: ours, Resource: "podmanagers", For: "undo, restart, pause, resume, retry, promote, set image", Role: "edit"},
		{Verb: "update", Group: ours, Resource: "podmanagers", Subresource: "scale", For: "scale", Role: "edit"},
		// Needed only if artifacts/policy.yaml is installed.
		{Verb: "create", Resource: "pods", For: "creating PodManagers, undo, restart, retry, set image", Role: "edit"},
	}
}

// String returns the permission in RBAC terms.
func (r Right) String() string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return r.Verb + " " + resource
}
