package world

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// podShape is what all pods of a world share: which containers they have, and their resizePolicy.
type podShape struct {
	side, init, proxy bool
	resizePolicy      []corev1.ContainerResizePolicy
}

func (w *World) randomShape() podShape {
	b := podShape{side: w.chance(0.3), init: w.chance(0.2), proxy: w.chance(0.5)}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if w.chance(0.5) {
			b.resizePolicy = append(b.resizePolicy, corev1.ContainerResizePolicy{
				ResourceName: name, RestartPolicy: pick(w, corev1.NotRequired, corev1.RestartContainer),
			})
		}
	}
	return b
}

// randomSpec is a random spec that the CRD admits. Deadlines are longer than what they wait for.
func (w *World) randomSpec() v1.PodManagerSpec {
	spec := v1.PodManagerSpec{
		Replicas:                ptr.To(w.size()),
		MinReadySeconds:         w.minReady(),
		Paused:                  w.chance(0.1),
		ProgressDeadlineSeconds: w.deadlineSeconds(),
		RevisionHistoryLimit:    ptr.To(pick[int32](w, 0, 1, 10)),
		PodReplacementPolicy:    pick(w, v1.TerminationStarted, v1.TerminationStarted, v1.TerminationComplete),
		FailedPodsHistoryLimit:  ptr.To(pick[int32](w, 0, 1, 2)),
		FailurePolicy:           w.failurePolicy(),
		ScaleDown:               w.scaleDown(),
		UpdateStrategy:          w.strategy(),
	}
	// randomTemplate depends on the update policy.
	w.Manager.Spec = spec
	spec.Template = w.randomTemplate()
	if w.chance(0.08) {
		w.makeItFail(&spec)
	}
	return spec
}

// makeItFail makes the spec one of a rollout with surge that will be halted.
func (w *World) makeItFail(spec *v1.PodManagerSpec) {
	spec.FailurePolicy = v1.FailurePolicy{OnFailure: v1.HaltOnFailure}
	spec.UpdateStrategy = v1.UpdateStrategy{Type: v1.RollingUpdateStrategy, RollingUpdate: &v1.RollingUpdate{
		MaxSurge: ptr.To(intstr.FromInt32(2 + w.dice.Int32N(3))), MaxUnavailable: w.budget(),
	}}
	spec.Template.Spec.Containers[0].Image = pick(w, "bad", "flaky", "missing")
}

func (w *World) minReady() int32 { return pick[int32](w, 0, 0, 0, 5, 30) }

func (w *World) deadlineSeconds() *int32 { return ptr.To(pick[int32](w, 60, 120, 600)) }

func (w *World) failurePolicy() v1.FailurePolicy {
	return v1.FailurePolicy{
		OnFailure:          pick(w, v1.ContinueOnFailure, v1.HaltOnFailure, v1.HaltOnFailure, v1.RollbackOnFailure, v1.RollbackOnFailure),
		MaxFailedPods:      ptr.To(pick(w, intstr.FromInt32(1), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("30%"))),
		GracePeriodSeconds: ptr.To(pick[int32](w, 0, 30, 30)),
	}
}

func (w *World) scaleDown() *v1.ScaleDown {
	if w.chance(0.7) {
		return nil
	}
	return &v1.ScaleDown{MaxTerminating: ptr.To(pick(w, intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("30%")))}
}

func (w *World) strategy() v1.UpdateStrategy {
	strategy := v1.UpdateStrategy{Type: pick(w, v1.RollingUpdateStrategy, v1.RollingUpdateStrategy, v1.RollingUpdateStrategy,
		v1.RollingUpdateStrategy, v1.RecreateStrategy, v1.OnDeleteStrategy)}
	if strategy.Type == v1.RollingUpdateStrategy {
		strategy.RollingUpdate = &v1.RollingUpdate{
			MaxSurge: w.budget(), MaxUnavailable: w.budget(), Partition: w.partition(),
			PodUpdatePolicy: w.updatePolicy(), InPlaceGracePeriodSeconds: w.inPlaceGrace(),
		}
	}
	return strategy
}

func (w *World) updatePolicy() v1.PodUpdatePolicy {
	return pick(w, v1.RecreatePods, v1.RecreatePods, v1.InPlaceIfPossible, v1.InPlaceIfPossible, v1.InPlaceOnly)
}

func (w *World) inPlaceGrace() int32 { return pick[int32](w, 0, 0, 10) }

func (w *World) size() int32 {
	switch {
	case w.chance(0.003):
		return 200
	case w.chance(0.2):
		return w.dice.Int32N(31)
	default:
		return w.dice.Int32N(8)
	}
}

func (w *World) budget() *intstr.IntOrString {
	value := intstr.FromInt32(w.dice.Int32N(4))
	if w.chance(0.5) {
		value = intstr.FromString(pick(w, "0%", "1%", "25%", "34%", "50%", "100%"))
	}
	return &value
}

func (w *World) partition() *intstr.IntOrString {
	value := intstr.FromInt32(0)
	if w.chance(0.3) {
		value = pick(w, intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("50%"), intstr.FromString("100%"))
	}
	return &value
}

// randomTemplate is a random template. Not all of its differences to other templates can be updated in place.
func (w *World) randomTemplate() *corev1.PodTemplateSpec {
	app := w.container("app", pick(w, "app:1", "app:2", "app:3", "app:4", "app:5"))
	switch {
	case w.chance(0.1):
		app.Image = "bad"
	case w.chance(0.15):
		app.Image = pick(w, "flaky", "missing", "missing:2")
	}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"note": strconv.Itoa(w.dice.IntN(2))}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{app}},
	}
	otherChance := 0.3 // how likely a difference is that cannot be updated in place
	if w.Manager.PodUpdatePolicy() == v1.InPlaceOnly {
		otherChance = 0.05
	}
	if w.shape.side {
		template.Spec.Containers = append(template.Spec.Containers, w.container("side", pick(w, "side:1", "side:1", "side:1", "side:2", "side:2", "bad")))
	}
	if w.shape.init {
		template.Spec.InitContainers = append(template.Spec.InitContainers, w.container("init", "init:1"))
	}
	if w.shape.proxy {
		proxy := w.container("proxy", "proxy:1")
		proxy.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		if w.chance(otherChance / 3) {
			proxy.Image = pick(w, "proxy:2", "proxy:2", "bad")
		}
		template.Spec.InitContainers = append(template.Spec.InitContainers, proxy)
	}
	if w.chance(otherChance) {
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", Value: strconv.Itoa(w.dice.IntN(3))}}
	}
	return template
}

func (w *World) container(name, image string) corev1.Container {
	c := corev1.Container{Name: name, Image: image, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: oneCPU, corev1.ResourceMemory: oneGi,
	}}}
	if name != "app" {
		return c
	}
	c.ResizePolicy = w.shape.resizePolicy
	c.Resources.Requests[corev1.ResourceCPU] = pick(w, oneCPU, twoCPU)
	c.Resources.Requests[corev1.ResourceMemory] = pick(w, oneGi, oneGi, twoGi)
	return c
}

var (
	oneCPU, twoCPU = resource.MustParse("1"), resource.MustParse("2")
	oneGi, twoGi   = resource.MustParse("1Gi"), resource.MustParse("2Gi")
)
