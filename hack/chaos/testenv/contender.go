package testenv

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

// Contender is a controller with its kind of object, the owners of pods.
type Contender interface {
	// Name returns the name in the report.
	Name() string
	// Resource returns the resource of the owners.
	Resource() string
	// User returns the user name that the API server sees.
	User() string
	// Kubeconfig returns the path of a kubeconfig for the API server.
	Kubeconfig() string
	// Launch starts the controller. The returned function reports whether it is ready.
	Launch(kubeconfig, namespace string, flags ...string) (*lab.Process, func() bool, error)
	// Create creates an owner. A patch may change the image of its pods later if Updates is true.
	Create(ctx context.Context, namespace, name string, replicas int, options OwnerOptions) error
	// Patch changes an owner with a JSON merge patch.
	Patch(ctx context.Context, namespace, name, patch string) error
	// Delete deletes an owner.
	Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
	// Owners returns all owners in a namespace.
	Owners(ctx context.Context, namespace string) ([]Owner, error)
	// SelectorLabel returns the label by which owners select their pods.
	SelectorLabel() string
	// Updates reports whether a changed template changes existing pods.
	Updates() bool
}

// OwnerOptions are the fields of an owner that scenarios vary.
type OwnerOptions struct {
	// Image is the image of the pods; DefaultImage if empty.
	Image string
	// Spec changes the spec of a PodManager. ReplicaSets ignore it.
	Spec func(*v1.PodManagerSpec)
	// Pod changes the template of the pods.
	Pod func(*corev1.PodTemplateSpec)
}

// Owner is an owner with its status. Only Settle uses the fields that are not exported.
type Owner struct {
	Name                 string
	uid                  types.UID
	deleting             bool
	Finalizers           []string
	generation, observed int64
	wanted               int
	active, ready        int
	// done is true if the condition Ready is true. ReplicaSets do not have this condition.
	done bool
	// image is the image of the template.
	image string
	// Conditions are the messages of the conditions by type. Says is the Ready condition, or all conditions, as text.
	Conditions map[string]string
	Says       string
}

// DefaultImage is the image of pods whose scenario does not set one.
const DefaultImage = "nginx:1.27"

// Paced limits the number of terminating pods to two. A PodManager needs a finalizer for that.
func Paced(spec *v1.PodManagerSpec) {
	spec.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(2))}
}

// Template returns the template of the pods, which have these labels.
func (o OwnerOptions) Template(labels map[string]string) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: DefaultImage}}},
	}
	if o.Image != "" {
		template.Spec.Containers[0].Image = o.Image
	}
	if o.Pod != nil {
		o.Pod(template)
	}
	return template
}

// OurName is the name of our contender.
const OurName = "PodManager"

// Ours returns the PodManager controller in a cluster.
func Ours(cluster *lab.Cluster) Contender { return ours{cluster} }

type ours struct{ cluster *lab.Cluster }

func (ours) Name() string          { return OurName }
func (ours) Resource() string      { return "podmanagers" }
func (ours) SelectorLabel() string { return v1.LabelManager }
func (ours) Updates() bool         { return true }
func (ours) User() string {
	return "system:serviceaccount:podmanager-system:podmanager-controller"
}
func (o ours) Kubeconfig() string { return o.cluster.OurKubeconfig }

func (o ours) Launch(kubeconfig, namespace string, flags ...string) (*lab.Process, func() bool, error) {
	return o.cluster.LaunchOurs(append([]string{"-v", "4", "-kubeconfig", kubeconfig, "-namespace", namespace}, flags...)...)
}

func (o ours) Create(ctx context.Context, namespace, name string, replicas int, options OwnerOptions) error {
	manager := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To(int32(replicas)), Template: options.Template(nil)},
	}
	if options.Spec != nil {
		options.Spec(&manager.Spec)
	}
	_, err := o.cluster.Managers.AppsV1().PodManagers(namespace).Create(ctx, manager, metav1.CreateOptions{})
	return err
}

func (o ours) Patch(ctx context.Context, namespace, name, patch string) error {
	_, err := o.cluster.Managers.AppsV1().PodManagers(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (o ours) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	return o.cluster.Managers.AppsV1().PodManagers(namespace).Delete(ctx, name, options)
}

func (o ours) Owners(ctx context.Context, namespace string) ([]Owner, error) {
	list, err := o.cluster.Managers.AppsV1().PodManagers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var owners []Owner
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
		owners = append(owners, Owner{
			Name: m.Name, uid: m.UID, deleting: m.DeletionTimestamp != nil, Finalizers: m.Finalizers,
			generation: m.Generation, observed: m.Status.ObservedGeneration, wanted: m.DesiredReplicas(),
			active: int(m.Status.Replicas), ready: int(m.Status.ReadyReplicas),
			done: meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady), image: image, Conditions: conditions, Says: says,
		})
	}
	return owners, nil
}

// Peer returns the ReplicaSet controller in a cluster.
func Peer(cluster *lab.Cluster) Contender { return peer{cluster} }

type peer struct{ cluster *lab.Cluster }

// peerLabel is the label by which ReplicaSets select their pods.
const peerLabel = "replicaset"

func (peer) Name() string          { return "ReplicaSet" }
func (peer) Resource() string      { return "replicasets" }
func (peer) SelectorLabel() string { return peerLabel }
func (peer) Updates() bool         { return false }
func (peer) User() string          { return "system:serviceaccount:kube-system:peer-controller" }
func (p peer) Kubeconfig() string  { return p.cluster.PeerKubeconfig }

func (p peer) Launch(kubeconfig, _ string, flags ...string) (*lab.Process, func() bool, error) {
	return p.cluster.LaunchPeer([]string{"replicaset-controller"}, append([]string{"--kubeconfig", kubeconfig}, flags...)...)
}

func (p peer) Create(ctx context.Context, namespace, name string, replicas int, options OwnerOptions) error {
	labels := map[string]string{peerLabel: name}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *options.Template(labels),
		},
	}
	_, err := p.cluster.Kube.AppsV1().ReplicaSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	return err
}

func (p peer) Patch(ctx context.Context, namespace, name, patch string) error {
	_, err := p.cluster.Kube.AppsV1().ReplicaSets(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (p peer) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	return p.cluster.Kube.AppsV1().ReplicaSets(namespace).Delete(ctx, name, options)
}

func (p peer) Owners(ctx context.Context, namespace string) ([]Owner, error) {
	list, err := p.cluster.Kube.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var owners []Owner
	for _, r := range list.Items {
		wanted, conditions := int(ptr.Deref(r.Spec.Replicas, 1)), map[string]string{}
		for _, c := range r.Status.Conditions {
			conditions[string(c.Type)] = c.Message
		}
		owners = append(owners, Owner{
			Name: r.Name, uid: r.UID, deleting: r.DeletionTimestamp != nil, Finalizers: r.Finalizers,
			generation: r.Generation, observed: r.Status.ObservedGeneration, wanted: wanted,
			active: int(r.Status.Replicas), ready: int(r.Status.ReadyReplicas), done: int(r.Status.ReadyReplicas) == wanted,
			image: r.Spec.Template.Spec.Containers[0].Image, Conditions: conditions, Says: fmt.Sprintf("%v", r.Status.Conditions),
		})
	}
	return owners, nil
}
