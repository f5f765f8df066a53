package cluster

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
)

// The values of --dry-run.
const (
	DryRunNone   = "none"
	DryRunClient = "client"
	DryRunServer = "server"
)

// CheckDryRun returns an error if the value of --dry-run is invalid.
func CheckDryRun(value string) error {
	switch value {
	case DryRunNone, DryRunClient, DryRunServer:
		return nil
	default:
		return fmt.Errorf("--dry-run is %q; use none, client (only print what would change) or server (send the request, but do not persist it)", value)
	}
}

func onServer(dryRun string) []string {
	if dryRun == DryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Write writes a change and returns the resulting PodManager.
func (c *Cluster) Write(ctx context.Context, manager *v1.PodManager, what change.Change, dryRun string) (*v1.PodManager, error) {
	if what.IsEmpty() || dryRun == DryRunClient {
		return manager, nil
	}
	patch, err := what.Patch(manager)
	if err != nil {
		return nil, err
	}
	return c.Managers.AppsV1().PodManagers(manager.Namespace).Patch(ctx, manager.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: change.FieldManager, DryRun: onServer(dryRun)})
}

// attempts is how often a write is tried if other clients change the object at the same time.
const attempts = 5

// Verb computes the change that a verb makes to one PodManager.
type Verb func(manager *v1.PodManager, now time.Time) (change.Change, error)

// Do applies a verb to a PodManager, unless that is being deleted. If another client changes the PodManager in the meantime, it computes the change
// again.
func (c *Cluster) Do(ctx context.Context, manager *v1.PodManager, verb Verb, dryRun string) (*v1.PodManager, change.Change, error) {
	for attempt := 1; ; attempt++ {
		if err := follow.RefuseDeleted(manager); err != nil {
			return nil, change.Change{}, err
		}
		what, err := verb(manager, time.Now())
		if err != nil {
			return nil, what, err
		}
		written, err := c.Write(ctx, manager, what, dryRun)
		if !isChanged(err) || attempt == attempts {
			return written, what, c.Advise(err, manager.Namespace)
		}
		namespace := manager.Namespace
		if manager, err = c.Managers.AppsV1().PodManagers(namespace).Get(ctx, manager.Name, metav1.GetOptions{}); err != nil {
			return nil, what, c.Advise(err, namespace)
		}
	}
}

// Scale sets the number of replicas through the scale subresource, unless the PodManager is being deleted, and returns the previous number. If
// expected is not negative, the previous number must equal it. Scale does not read the scale subresource, which the role podmanager-edit does not
// allow: the PodManager has its number and its version.
func (c *Cluster) Scale(ctx context.Context, manager *v1.PodManager, replicas, expected int32, dryRun string) (before int32, err error) {
	client := c.Managers.AppsV1().PodManagers(manager.Namespace)
	for attempt := 1; ; attempt++ {
		if err := follow.RefuseDeleted(manager); err != nil {
			return 0, err
		}
		before = int32(manager.DesiredReplicas())
		if expected >= 0 && before != expected {
			return before, fmt.Errorf("spec.replicas of %s is %d, not %d as --current-replicas says; nothing was changed",
				manager.Name, before, expected)
		}
		if before == replicas || dryRun == DryRunClient {
			return before, nil
		}
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}, ObjectMeta: metav1.ObjectMeta{
			Namespace: manager.Namespace, Name: manager.Name, UID: manager.UID, ResourceVersion: manager.ResourceVersion,
		}}
		_, err = client.UpdateScale(ctx, manager.Name, scale, metav1.UpdateOptions{FieldManager: change.FieldManager, DryRun: onServer(dryRun)})
		if !isChanged(err) || attempt == attempts {
			return before, c.Advise(err, manager.Namespace)
		}
		namespace := manager.Namespace
		if manager, err = client.Get(ctx, manager.Name, metav1.GetOptions{}); err != nil {
			return 0, c.Advise(err, namespace)
		}
	}
}
