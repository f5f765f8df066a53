package users

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// ForeignGate is the readiness gate of another controller.
const ForeignGate corev1.PodConditionType = "example.com/traffic"

// User writes specs.
type User struct {
	dice dice.Dice
	tell func(format string, args ...any)
	// shape is common to all templates, because a difference there would rule out updates in place.
	shape podShape
	// templates are all templates that the spec has had.
	templates []*corev1.PodTemplateSpec
}

// New returns a user who reports each edit to tell.
func New(d dice.Dice, tell func(format string, args ...any)) *User {
	u := &User{dice: d, tell: tell}
	u.shape = u.randomShape()
	return u
}

// podShape has the containers that all pods have, and their resizePolicy.
type podShape struct {
	side, init, proxy bool
	// probed means that the app has a startup probe.
	probed bool
	// readsNote means that a container reads the annotation note through its environment, gated that pods have a readiness gate of another controller.
	readsNote, gated bool
	resizePolicy     []corev1.ContainerResizePolicy
}

func (u *User) randomShape() podShape {
	b := podShape{side: u.dice.Chance(0.3), init: u.dice.Chance(0.2), proxy: u.dice.Chance(0.5), readsNote: u.dice.Chance(0.1), gated: u.dice.Chance(0.1),
		probed: u.dice.Chance(0.2)}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if u.dice.Chance(0.5) {
			b.resizePolicy = append(b.resizePolicy, corev1.ContainerResizePolicy{
				ResourceName: name, RestartPolicy: dice.Pick(u.dice, corev1.NotRequired, corev1.RestartContainer),
			})
		}
	}
	return b
}

// Create gives a new PodManager a random spec that the CRD admits. Deadlines are longer than the events that they wait for.
func (u *User) Create(m *v1.PodManager) {
	m.Spec = v1.PodManagerSpec{
		Replicas:                ptr.To(u.Size()),
		MinReadySeconds:         u.minReady(),
		Paused:                  u.dice.Chance(0.1),
		ProgressDeadlineSeconds: u.deadlineSeconds(),
		RevisionHistoryLimit:    ptr.To(dice.Pick[int32](u.dice, 0, 1, 10)),
		PodReplacementPolicy:    dice.Pick(u.dice, v1.TerminationStarted, v1.TerminationStarted, v1.TerminationComplete),
		FailedPodsHistoryLimit:  ptr.To(dice.Pick[int32](u.dice, 0, 1, 2)),
		FailurePolicy:           u.failurePolicy(),
		ScaleDown:               u.scaleDown(),
		UpdateStrategy:          u.strategy(),
	}
	m.Spec.Template = u.Template(m) // it depends on the update policy
	if u.dice.Chance(0.08) {
		u.makeItFail(&m.Spec)
	}
	u.Remember(m.Spec.Template)
}

// makeItFail changes the spec so that a rollout with surge will be halted.
func (u *User) makeItFail(spec *v1.PodManagerSpec) {
	spec.FailurePolicy = v1.FailurePolicy{OnFailure: v1.HaltOnFailure}
	spec.UpdateStrategy = v1.UpdateStrategy{Type: v1.RollingUpdateStrategy, RollingUpdate: &v1.RollingUpdate{
		MaxSurge: ptr.To(intstr.FromInt32(2 + u.dice.Int32N(3))), MaxUnavailable: u.budget(),
	}}
	spec.Template.Spec.Containers[0].Image = dice.Pick(u.dice, "bad", "flaky", "missing")
}

func (u *User) minReady() int32 { return dice.Pick[int32](u.dice, 0, 0, 0, 5, 30) }

func (u *User) deadlineSeconds() *int32 { return ptr.To(dice.Pick[int32](u.dice, 60, 120, 600)) }

func (u *User) failurePolicy() v1.FailurePolicy {
	return v1.FailurePolicy{
		OnFailure:          dice.Pick(u.dice, v1.ContinueOnFailure, v1.HaltOnFailure, v1.HaltOnFailure, v1.RollbackOnFailure, v1.RollbackOnFailure),
		FailureThreshold:   ptr.To(dice.Pick(u.dice, intstr.FromInt32(1), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("30%"))),
		GracePeriodSeconds: ptr.To(dice.Pick[int32](u.dice, 0, 30, 30)),
		BakeSeconds:        dice.Pick(u.dice, nil, nil, ptr.To[int32](0), ptr.To[int32](120)),
	}
}

func (u *User) scaleDown() *v1.ScaleDown {
	if u.dice.Chance(0.7) {
		return nil
	}
	return &v1.ScaleDown{MaxTerminating: ptr.To(dice.Pick(u.dice, intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("30%")))}
}

func (u *User) strategy() v1.UpdateStrategy {
	strategy := v1.UpdateStrategy{Type: dice.Pick(u.dice, v1.RollingUpdateStrategy, v1.RollingUpdateStrategy, v1.RollingUpdateStrategy,
		v1.RollingUpdateStrategy, v1.RecreateStrategy, v1.OnDeleteStrategy)}
	if strategy.Type == v1.RollingUpdateStrategy {
		strategy.RollingUpdate = &v1.RollingUpdate{
			MaxSurge: u.budget(), MaxUnavailable: u.budget(), Partition: u.partition(),
			PodUpdatePolicy: u.updatePolicy(), InPlaceGracePeriodSeconds: u.inPlaceGrace(),
		}
	}
	return strategy
}

func (u *User) updatePolicy() v1.PodUpdatePolicy {
	return dice.Pick(u.dice, v1.RecreatePods, v1.RecreatePods, v1.InPlaceIfPossible, v1.InPlaceIfPossible, v1.InPlaceOnly)
}

func (u *User) inPlaceGrace() int32 { return dice.Pick[int32](u.dice, 0, 0, 10) }

// Size returns a random number of replicas.
func (u *User) Size() int32 {
	switch {
	case u.dice.Chance(0.003):
		return dice.Pick[int32](u.dice, 200, 200, 200, 200, 200, 1500)
	case u.dice.Chance(0.2):
		return u.dice.Int32N(31)
	default:
		return u.dice.Int32N(8)
	}
}

func (u *User) budget() *intstr.IntOrString {
	value := intstr.FromInt32(u.dice.Int32N(4))
	if u.dice.Chance(0.5) {
		value = intstr.FromString(dice.Pick(u.dice, "0%", "1%", "25%", "34%", "50%", "100%"))
	}
	return &value
}

func (u *User) partition() *intstr.IntOrString {
	value := intstr.FromInt32(0)
	if u.dice.Chance(0.3) {
		value = dice.Pick(u.dice, intstr.FromInt32(1), intstr.FromInt32(3), intstr.FromString("50%"), intstr.FromString("100%"))
	}
	return &value
}

// Template returns a random template. Not all of its differences from other templates can be applied in place.
func (u *User) Template(m *v1.PodManager) *corev1.PodTemplateSpec {
	app := u.container("app", dice.Pick(u.dice, "app:1", "app:2", "app:3", "app:4", "app:5"))
	switch {
	case u.dice.Chance(0.1):
		app.Image = "bad"
	case u.dice.Chance(0.15):
		app.Image = dice.Pick(u.dice, "flaky", "missing", "missing:2")
	}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"note": strconv.Itoa(u.dice.IntN(2))}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{app}},
	}
	otherChance := 0.3 // the probability of a difference that cannot be applied in place
	if m.PodUpdatePolicy() == v1.InPlaceOnly {
		otherChance = 0.05
	}
	if u.shape.side {
		template.Spec.Containers = append(template.Spec.Containers, u.container("side", dice.Pick(u.dice, "side:1", "side:1", "side:1", "side:2", "side:2", "bad")))
	}
	if u.shape.init {
		template.Spec.InitContainers = append(template.Spec.InitContainers, u.container("init", "init:1"))
	}
	if u.shape.proxy {
		proxy := u.container("proxy", "proxy:1")
		proxy.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		if u.dice.Chance(otherChance / 3) {
			proxy.Image = dice.Pick(u.dice, "proxy:2", "proxy:2", "bad")
		}
		template.Spec.InitContainers = append(template.Spec.InitContainers, proxy)
	}
	if u.dice.Chance(otherChance) {
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", Value: strconv.Itoa(u.dice.IntN(3))}}
	}
	if u.shape.readsNote {
		note := corev1.EnvVar{Name: "NOTE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['note']"}}}
		template.Spec.Containers[0].Env = append(template.Spec.Containers[0].Env, note)
	}
	if u.shape.gated {
		template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: ForeignGate}}
	}
	return template
}

func (u *User) container(name, image string) corev1.Container {
	c := corev1.Container{Name: name, Image: image, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: oneCPU, corev1.ResourceMemory: oneGi,
	}}}
	if name != "app" {
		return c
	}
	c.ResizePolicy = u.shape.resizePolicy
	if u.shape.probed {
		c.StartupProbe = &corev1.Probe{PeriodSeconds: 5}
	}
	c.Resources.Requests[corev1.ResourceCPU] = dice.Pick(u.dice, oneCPU, twoCPU)
	c.Resources.Requests[corev1.ResourceMemory] = dice.Pick(u.dice, oneGi, oneGi, twoGi)
	return c
}

var (
	oneCPU, twoCPU = resource.MustParse("1"), resource.MustParse("2")
	oneGi, twoGi   = resource.MustParse("1Gi"), resource.MustParse("2Gi")
)
