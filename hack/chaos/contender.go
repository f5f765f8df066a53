package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// contender is a kind of controller with its objects, the owners of pods.
type contender interface {
	name() string
	// resource is the resource of the owners.
	resource() string
	// user is the user name that the API server sees.
	user() string
	// kubeconfig leads to the API server.
	kubeconfig() string
	launch(kubeconfig, namespace string, flags ...string) (*lab.Process, func() bool, error)
	// create creates an owner. update may change the image later if updates is true.
	create(ctx context.Context, namespace, name string, replicas int, options ownerOptions) error
	// patch is a JSON merge patch.
	patch(ctx context.Context, namespace, name, patch string) error
	delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
	owners(ctx context.Context, namespace string) ([]owner, error)
	// selectorLabel is the label by which pods belong to an owner.
	selectorLabel() string
	// updates tells whether a changed template changes existing pods.
	updates() bool
}

// ownerOptions are the fields of an owner that scenarios vary.
type ownerOptions struct {
	image string
	// spec changes the spec of a PodManager; ReplicaSets ignore it.
	spec func(*v1.PodManagerSpec)
	// pod changes the template of the pods.
	pod func(*corev1.PodTemplateSpec)
}

// owner is an owner with its status.
type owner struct {
	name                 string
	uid                  types.UID
	deleting             bool
	finalizers           []string
	generation, observed int64
	wanted               int
	active, ready        int
	// done tells that its condition Ready is true; ReplicaSets have none.
	done bool
	// image is the image of the template.
	image string
	// conditions are the messages of the conditions, by type; says is the Ready condition, or all conditions, as text.
	conditions map[string]string
	says       string
}

const defaultImage = "nginx:1.27"

// paced lets two pods terminate at a time, for which a PodManager has a finalizer.
func paced(spec *v1.PodManagerSpec) {
	spec.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(2))}
}

func (o ownerOptions) template(labels map[string]string) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: defaultImage}}},
	}
	if o.image != "" {
		template.Spec.Containers[0].Image = o.image
	}
	if o.pod != nil {
		o.pod(template)
	}
	return template
}

// ours is the PodManager controller.
type ours struct{ cluster *lab.Cluster }

func (ours) name() string          { return "PodManager" }
func (ours) resource() string      { return "podmanagers" }
func (ours) selectorLabel() string { return v1.LabelManager }
func (ours) updates() bool         { return true }
func (ours) user() string {
	return "system:serviceaccount:podmanager-system:podmanager-controller"
}
func (o ours) kubeconfig() string { return o.cluster.OurKubeconfig }

func (o ours) launch(kubeconfig, namespace string, flags ...string) (*lab.Process, func() bool, error) {
	return o.cluster.LaunchOurs(append([]string{"-v", "4", "-kubeconfig", kubeconfig, "-namespace", namespace}, flags...)...)
}

func (o ours) create(ctx context.Context, namespace, name string, replicas int, options ownerOptions) error {
	manager := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To(int32(replicas)), Template: options.template(nil)},
	}
	if options.spec != nil {
		options.spec(&manager.Spec)
	}
	_, err := o.cluster.Managers.AppsV1().PodManagers(namespace).Create(ctx, manager, metav1.CreateOptions{})
	return err
}

func (o ours) patch(ctx context.Context, namespace, name, patch string) error {
	_, err := o.cluster.Managers.AppsV1().PodManagers(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (o ours) delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	return o.cluster.Managers.AppsV1().PodManagers(namespace).Delete(ctx, name, options)
}

func (o ours) owners(ctx context.Context, namespace string) ([]owner, error) {
	list, err := o.cluster.Managers.AppsV1().PodManagers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var owners []owner
	for _, m := range list.Items {
		image := m.Spec.Image
		if m.Spec.Template != nil {
			image = m.Spec.Template.Spec.Containers[0].Image
		}
		says, conditions := "", map[string]string{}
		for _, c := range m.Status.Conditions {
			conditions[c.Type] = c.Message
		}
		if c := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady); c != nil {
			says = fmt.Sprintf("Ready=%s %s: %s", c.Status, c.Reason, c.Message)
		}
		owners = append(owners, owner{
			name: m.Name, uid: m.UID, deleting: m.DeletionTimestamp != nil, finalizers: m.Finalizers,
			generation: m.Generation, observed: m.Status.ObservedGeneration, wanted: m.DesiredReplicas(),
			active: int(m.Status.Replicas), ready: int(m.Status.ReadyReplicas),
			done: meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady), image: image, conditions: conditions, says: says,
		})
	}
	return owners, nil
}

// peer is the ReplicaSet controller.
type peer struct{ cluster *lab.Cluster }

// peerLabel is the label by which ReplicaSets select their pods.
const peerLabel = "replicaset"

func (peer) name() string          { return "ReplicaSet" }
func (peer) resource() string      { return "replicasets" }
func (peer) selectorLabel() string { return peerLabel }
func (peer) updates() bool         { return false }
func (peer) user() string          { return "system:serviceaccount:kube-system:peer-controller" }
func (p peer) kubeconfig() string  { return p.cluster.PeerKubeconfig }

func (p peer) launch(kubeconfig, _ string, flags ...string) (*lab.Process, func() bool, error) {
	return p.cluster.LaunchPeer([]string{"replicaset-controller"}, append([]string{"--kubeconfig", kubeconfig}, flags...)...)
}

func (p peer) create(ctx context.Context, namespace, name string, replicas int, options ownerOptions) error {
	labels := map[string]string{peerLabel: name}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *options.template(labels),
		},
	}
	_, err := p.cluster.Kube.AppsV1().ReplicaSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	return err
}

func (p peer) patch(ctx context.Context, namespace, name, patch string) error {
	_, err := p.cluster.Kube.AppsV1().ReplicaSets(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (p peer) delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	return p.cluster.Kube.AppsV1().ReplicaSets(namespace).Delete(ctx, name, options)
}

func (p peer) owners(ctx context.Context, namespace string) ([]owner, error) {
	list, err := p.cluster.Kube.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var owners []owner
	for _, r := range list.Items {
		wanted, conditions := int(ptr.Deref(r.Spec.Replicas, 1)), map[string]string{}
		for _, c := range r.Status.Conditions {
			conditions[string(c.Type)] = c.Message
		}
		owners = append(owners, owner{
			name: r.Name, uid: r.UID, deleting: r.DeletionTimestamp != nil, finalizers: r.Finalizers,
			generation: r.Generation, observed: r.Status.ObservedGeneration, wanted: wanted,
			active: int(r.Status.Replicas), ready: int(r.Status.ReadyReplicas), done: int(r.Status.ReadyReplicas) == wanted,
			image: r.Spec.Template.Spec.Containers[0].Image, conditions: conditions, says: fmt.Sprintf("%v", r.Status.Conditions),
		})
	}
	return owners, nil
}
