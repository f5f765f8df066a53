package workloads

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The users that the controllers authenticate as, as the audit log shows them.
const (
	ourUser  = "system:serviceaccount:podmanager-system:podmanager-controller"
	peerUser = "system:serviceaccount:kube-system:peer-controller"
)

// contender is a way to manage pods. Its owners are named by index.
type contender interface {
	name() string
	// made reports whether the contender sent a request.
	made(audit.Request) bool
	// launch starts the contender's controller, and returns a function that reports whether it is ready. The process is nil if it needs none.
	launch() (*lab.Process, func() bool, error)
	create(ctx context.Context, space string, owners, replicas int) error
	scale(ctx context.Context, space string, owner, replicas int) error
	update(ctx context.Context, space string, owner int, image string) error
	// statuses counts the owners by their statuses. It is nil if the contender has none.
	statuses() *census.Owners
	// remove deletes the owners, when there is neither a controller nor a pod any more.
	remove(ctx context.Context, space string) error
}

// eachOwner makes a call for each owner, several at a time.
func eachOwner(ctx context.Context, owners int, call func(ctx context.Context, name string) error) error {
	return inParallel(ctx, owners, ownersAtOnce, func(ctx context.Context, i int) error { return call(ctx, ownerName(i)) })
}

// inBackground leaves the dependents to the garbage collector, which will find none.
var inBackground = metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}

// managers is the contender PodManager.
type managers struct {
	*clients
	cluster *lab.Cluster
	owners  *census.Owners
	policy  v1.PodUpdatePolicy
	// template returns the template of the pods.
	template func(owner string) corev1.PodTemplateSpec
	// grace is how long pods are observed before their revision is known to be good.
	grace time.Duration
	// flags are additional flags for the controller.
	flags []string
}

// hasty returns a copy that considers pods good soon, for workloads that measure nothing before that.
func (m *managers) hasty() *managers {
	hasty := *m
	hasty.grace = time.Second
	return &hasty
}

func (m *managers) name() string {
	if m.policy == v1.InPlaceIfPossible {
		return figures.InPlace
	}
	return figures.Ours
}

func (m *managers) made(r audit.Request) bool { return r.User.Username == ourUser }

func (m *managers) launch() (*lab.Process, func() bool, error) {
	return m.cluster.LaunchOurs(m.flags...)
}

func (m *managers) create(ctx context.Context, space string, owners, replicas int) error {
	return eachOwner(ctx, owners, func(ctx context.Context, name string) error {
		manager := newManager(name, replicas, m.policy)
		manager.Spec.Template = ptr.To(m.template(name))
		manager.Spec.FailurePolicy.GracePeriodSeconds = ptr.To(int32(m.grace.Seconds()))
		_, err := m.podManagers.AppsV1().PodManagers(space).Create(ctx, manager, metav1.CreateOptions{})
		return err
	})
}

func (m *managers) scale(ctx context.Context, space string, owner, replicas int) error {
	return m.patch(ctx, space, ownerName(owner), types.MergePatchType, replicasPatch(replicas))
}

func (m *managers) update(ctx context.Context, space string, owner int, image string) error {
	return m.patch(ctx, space, ownerName(owner), types.JSONPatchType, imagePatch(image))
}

func (m *managers) patch(ctx context.Context, space, name string, kind types.PatchType, patch []byte) error {
	_, err := m.podManagers.AppsV1().PodManagers(space).Patch(ctx, name, kind, patch, metav1.PatchOptions{})
	return err
}

func (m *managers) statuses() *census.Owners { return m.owners }

// remove first removes the finalizers, because no controller does.
func (m *managers) remove(ctx context.Context, space string) error {
	names := m.owners.Names(space)
	err := inParallel(ctx, len(names), ownersAtOnce, func(ctx context.Context, i int) error {
		return m.patch(ctx, space, names[i], types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	})
	if err != nil {
		return err
	}
	if err := m.kube.AppsV1().ControllerRevisions(space).DeleteCollection(ctx, inBackground, metav1.ListOptions{}); err != nil {
		return err
	}
	return m.podManagers.AppsV1().PodManagers(space).DeleteCollection(ctx, inBackground, metav1.ListOptions{})
}
