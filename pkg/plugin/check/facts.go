package check

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/policy"
)

// Facts are what package cluster has read about a cluster, its controller and a PodManager.
type Facts struct {
	// Server and ServerVersion are the address and the version of the API server.
	Server, ServerVersion string
	// Resources are the resources of PodManagers that are served, such as podmanagers/scale. There are none if the CRD is missing, or if they could
	// not be read because of ResourcesError.
	Resources      []string
	ResourcesError error
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

	// Rights are the permissions of function Rights, in the namespace RightsIn.
	Rights   []Right
	RightsIn string
	// User is the name of a user who lacks one of the rights. It is empty if the name is not known.
	User string
	// Resizes reports whether the API server has pods/resize. ResizesError is why this could not be read.
	Resizes      bool
	ResizesError error
	// Budgets are the PodDisruptionBudgets in Manager's namespace. BudgetsError is why they could not be read. VPA is the name of the
	// VerticalPodAutoscaler that targets Manager. It is empty if there is none.
	Budgets      []policyv1.PodDisruptionBudget
	BudgetsError error
	VPA          string
	// Room is the room for a surge pod. It is read only if Manager needs one for a rollout.
	Room surge.Room
	// Manager is the PodManager to check. It is nil if the user named none.
	Manager *v1.PodManager
	Now     time.Time
}

// LeaseName returns the name of the controller's Lease. The chart sets it to another name in a release that has one.
func (f *Facts) LeaseName() string {
	for _, controller := range f.Controllers {
		if names := valuesOf(controller.Args, "leader-elect-resource-name"); len(names) > 0 {
			return names[0]
		}
	}
	return v1.ControllerName
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
	rights.Right
	// For names verbs of the plugin that need the permission.
	For string

	Allowed bool
	Err     error
}

// Rights returns the permissions that check looks at: those that the most used verbs of the plugin need.
func Rights() []Right {
	right := func(verb, group, resource, use string) Right {
		return Right{Right: rights.Right{Verb: verb, Group: group, Resource: resource}, For: use}
	}
	const ours = v1.GroupName
	return []Right{
		right("list", ours, "podmanagers", "get"),
		right("watch", ours, "podmanagers", "get -w, status"),
		{Right: rights.ListPods, For: "get, why, history"},
		{Right: rights.ListRevisions, For: "history, diff, undo"},
		right("list", "", "events", "why"),
		right("get", "", "pods/log", "why, logs"),
		right("create", "", "pods/exec", "exec"),
		right("create", "", "pods/portforward", "port-forward"),
		right("get", "apps", "deployments", "convert"),
		right("patch", ours, "podmanagers", "undo, restart, pause, resume, retry, promote, set image"),
		right("update", ours, "podmanagers/scale", "scale"),
		{Right: rights.CreatePods, For: "creating PodManagers, undo, restart, retry and set image, if artifacts/policy.yaml is installed"},
	}
}
