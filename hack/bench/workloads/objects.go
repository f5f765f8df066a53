package workloads

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// Full names, as nodes report them, because the running image is compared with the desired one.
	oldImage = "docker.io/library/nginx:1.27"
	newImage = "docker.io/library/nginx:1.28"
	// The images of the real node.
	oldWeb = "docker.io/local/web:1"
	newWeb = "docker.io/local/web:2"
	// noScheduler is the name of a scheduler that does not exist. Pods that wait for it cost nothing.
	noScheduler = "no-such-scheduler"
)

// ownerName returns the name of an owner, from which the names of its pods derive.
func ownerName(index int) string { return fmt.Sprintf("web-%d", index) }

// template returns the template for all contenders. A ReplicaSet needs the label, and the others get it, too. Because of the annotation, the
// simulated nodes change an image instantly, just as they start a new pod instantly (see hack/cluster/stages.yaml). If there is a real node, the
// pods avoid it.
func template(owner string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"app": owner}, Annotations: map[string]string{"simulate.podmanager/instant": ""},
		},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "app", Image: oldImage}},
			NodeSelector: map[string]string{"type": "kwok"},
			Tolerations:  []corev1.Toleration{{Key: "kwok.x-k8s.io/node", Value: "fake"}},
		},
	}
}

// webTemplate returns the template for pods whose containers run: web servers, which are ready when they respond (see hack/cluster/node/web). The
// server exits at once when it is asked to.
func webTemplate(owner string) corev1.PodTemplateSpec {
	answers := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(8080)}}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": owner}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "app", Image: oldWeb, ReadinessProbe: &corev1.Probe{ProbeHandler: answers, PeriodSeconds: 1},
			}},
			NodeSelector:                  map[string]string{"type": "real"},
			TerminationGracePeriodSeconds: ptr.To[int64](5),
		},
	}
}

// budget returns both maxSurge and maxUnavailable of all updates, for all contenders.
func budget() *intstr.IntOrString { return ptr.To(intstr.FromString("25%")) }

func newManager(name string, replicas int, policy v1.PodUpdatePolicy) *v1.PodManager {
	return &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodManagerSpec{
			Replicas: ptr.To(int32(replicas)), Template: ptr.To(template(name)),
			UpdateStrategy: v1.UpdateStrategy{RollingUpdate: &v1.RollingUpdate{
				PodUpdatePolicy: policy, MaxSurge: budget(), MaxUnavailable: budget(),
			}},
		},
	}
}

// newIdleManager returns a PodManager whose pods stay Pending, and that has no deadline that could pass during a measurement.
func newIdleManager(name string, replicas int) *v1.PodManager {
	manager := newManager(name, replicas, v1.RecreatePods)
	manager.Spec.Template.Spec.SchedulerName = noScheduler
	manager.Spec.ProgressDeadlineSeconds = ptr.To[int32](24 * 60 * 60)
	return manager
}

func newReplicaSet(name string, replicas int) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(int32(replicas)), Template: template(name),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}
}

func newDeployment(name string, replicas int) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)), Template: template(name),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: budget(), MaxUnavailable: budget()}},
		},
	}
}

func newPod(owner string, index int) *corev1.Pod {
	of := template(owner)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", owner, index), Labels: of.Labels, Annotations: of.Annotations,
	}, Spec: of.Spec}
}

// newStranger returns a pod that belongs to no contender.
func newStranger(index int) *corev1.Pod {
	pod := newPod("stranger", index)
	pod.Spec.SchedulerName = noScheduler
	return pod
}

// replicasPatch returns a merge patch, imagePatch a JSON patch. Both work for all kinds of owners.
func replicasPatch(replicas int) []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
}

func imagePatch(image string) []byte {
	return fmt.Appendf(nil, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
}
