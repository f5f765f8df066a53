package workloads

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// replicaSets is the contender ReplicaSet.
type replicaSets struct {
	*clients
	cluster *lab.Cluster
	owners  *census.Owners
}

func (r *replicaSets) name() string { return figures.ReplicaSet }

func (r *replicaSets) made(q audit.Request) bool { return q.User.Username == peerUser }

func (r *replicaSets) launch() (*lab.Process, func() bool, error) {
	return r.cluster.LaunchPeer([]string{"replicaset-controller"})
}

func (r *replicaSets) create(ctx context.Context, space string, owners, replicas int) error {
	return eachOwner(ctx, owners, func(ctx context.Context, name string) error {
		_, err := r.kube.AppsV1().ReplicaSets(space).Create(ctx, newReplicaSet(name, replicas), metav1.CreateOptions{})
		return err
	})
}

func (r *replicaSets) scale(ctx context.Context, space string, owner, replicas int) error {
	_, err := r.kube.AppsV1().ReplicaSets(space).Patch(ctx, ownerName(owner), types.MergePatchType, replicasPatch(replicas), metav1.PatchOptions{})
	return err
}

func (r *replicaSets) update(context.Context, string, int, string) error {
	return errors.New("a ReplicaSet does not update its pods")
}

func (r *replicaSets) statuses() *census.Owners { return r.owners }

func (r *replicaSets) remove(ctx context.Context, space string) error {
	return r.kube.AppsV1().ReplicaSets(space).DeleteCollection(ctx, inBackground, metav1.ListOptions{})
}

// deployments is the contender Deployment, together with the ReplicaSet controller that it uses.
type deployments struct {
	*clients
	cluster *lab.Cluster
	owners  *census.Owners
	// template returns the template of the pods.
	template func(owner string) corev1.PodTemplateSpec
	// noSurge sets maxSurge to 0. A Deployment then changes as many pods at a time as an update in place, which creates no surge pods.
	noSurge bool
}

func (d *deployments) name() string {
	if d.noSurge {
		return figures.NoSurge
	}
	return figures.Deployment
}

func (d *deployments) made(q audit.Request) bool { return q.User.Username == peerUser }

func (d *deployments) launch() (*lab.Process, func() bool, error) {
	return d.cluster.LaunchPeer([]string{"replicaset-controller", "deployment-controller"})
}

func (d *deployments) create(ctx context.Context, space string, owners, replicas int) error {
	return eachOwner(ctx, owners, func(ctx context.Context, name string) error {
		deployment := newDeployment(name, replicas)
		deployment.Spec.Template = d.template(name)
		if d.noSurge {
			deployment.Spec.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(0))
		}
		_, err := d.kube.AppsV1().Deployments(space).Create(ctx, deployment, metav1.CreateOptions{})
		return err
	})
}

func (d *deployments) scale(ctx context.Context, space string, owner, replicas int) error {
	return d.patch(ctx, space, owner, types.MergePatchType, replicasPatch(replicas))
}

func (d *deployments) update(ctx context.Context, space string, owner int, image string) error {
	return d.patch(ctx, space, owner, types.JSONPatchType, imagePatch(image))
}

func (d *deployments) patch(ctx context.Context, space string, owner int, kind types.PatchType, patch []byte) error {
	_, err := d.kube.AppsV1().Deployments(space).Patch(ctx, ownerName(owner), kind, patch, metav1.PatchOptions{})
	return err
}

func (d *deployments) statuses() *census.Owners { return d.owners }

func (d *deployments) remove(ctx context.Context, space string) error {
	if err := d.kube.AppsV1().Deployments(space).DeleteCollection(ctx, inBackground, metav1.ListOptions{}); err != nil {
		return err
	}
	return d.kube.AppsV1().ReplicaSets(space).DeleteCollection(ctx, inBackground, metav1.ListOptions{})
}
