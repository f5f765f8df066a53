package users

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// Edit edits one or more fields of the spec.
func (u *User) Edit(m *v1.PodManager, now time.Time) {
	for again := true; again; again = u.dice.Chance(0.3) {
		u.editField(m, now)
	}
}

// IsStuck reports whether a user sees that a rollout does not continue on its own.
func IsStuck(m *v1.PodManager) bool {
	ready := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady)
	return ready != nil && slices.Contains([]string{v1.ReasonPaused, v1.ReasonHalted, v1.ReasonRolledBack, v1.ReasonNotInPlace}, ready.Reason)
}

// GiveUp scales to zero.
func (u *User) GiveUp(m *v1.PodManager) {
	m.Spec.Replicas = ptr.To[int32](0)
	u.tell("user: gives up, 0 replicas")
}

// Release gives the spec another template, new or old.
func (u *User) Release(m *v1.PodManager) {
	template := u.Template(m)
	switch image := template.Spec.Containers[0].Image; {
	case u.dice.Chance(0.3):
		template = u.templates[u.dice.IntN(len(u.templates))]
	case u.dice.Chance(0.5): // most releases change only the image
		template = m.Spec.Template.DeepCopy()
		template.Spec.Containers[0].Image = image
	}
	m.Spec.Template = template
	u.Remember(template)
	u.tell("user: template %s", describeTemplate(template))
}

// Remember lets the user release a template again later.
func (u *User) Remember(template *corev1.PodTemplateSpec) {
	u.templates = append(u.templates, template)
}

func (u *User) editField(m *v1.PodManager, now time.Time) {
	spec := &m.Spec
	switch what := u.dice.IntN(16); {
	case what < 3:
		spec.Replicas = ptr.To(u.Size())
		if u.dice.Chance(0.1) {
			spec.Replicas = ptr.To[int32](0)
		}
		u.tell("user: %d replicas", *spec.Replicas)
	case what < 6:
		u.Release(m)
	case what < 9:
		spec.Paused = !spec.Paused
		u.tell("user: paused %v", spec.Paused)
	case what == 9 && m.PodUpdatePolicy() != v1.InPlaceOnly: // a restart cannot be done in place
		spec.RestartAt = ptr.To(metav1.NewTime(now.Truncate(time.Minute)))
		u.tell("user: restart at %v", spec.RestartAt)
	case what < 12 && spec.UpdateStrategy.RollingUpdate != nil:
		u.editRolling(m)
	case what == 12 && u.dice.Chance(0.5):
		spec.UpdateStrategy = u.strategy()
		u.tell("user: strategy %s", describeStrategy(m))
	default:
		u.editSeldomField(m)
	}
}

// editRolling changes the limits of a rolling update.
func (u *User) editRolling(m *v1.PodManager) {
	rolling := m.Spec.UpdateStrategy.RollingUpdate
	switch u.dice.IntN(8) {
	case 0:
		rolling.MaxSurge = u.budget()
	case 1:
		rolling.MaxUnavailable = u.budget()
	case 2:
		rolling.PodUpdatePolicy = u.updatePolicy()
	case 3:
		rolling.InPlaceGracePeriodSeconds = u.inPlaceGrace()
	default:
		rolling.Partition = u.partition()
	}
	u.tell("user: %s", describeStrategy(m))
}

// editSeldomField edits a field that users rarely edit.
func (u *User) editSeldomField(m *v1.PodManager) {
	spec := &m.Spec
	switch u.dice.IntN(7) {
	case 0:
		spec.MinReadySeconds = u.minReady()
	case 1:
		spec.FailurePolicy = u.failurePolicy()
	case 2:
		spec.FailurePolicy.GracePeriodSeconds = u.failurePolicy().GracePeriodSeconds
	case 3:
		spec.ProgressDeadlineSeconds = u.deadlineSeconds()
	case 4:
		spec.PodReplacementPolicy = dice.Pick(u.dice, v1.TerminationStarted, v1.TerminationComplete)
	case 5:
		spec.ScaleDown = u.scaleDown()
	default:
		spec.RevisionHistoryLimit, spec.FailedPodsHistoryLimit = ptr.To(dice.Pick[int32](u.dice, 0, 1, 10)), ptr.To(dice.Pick[int32](u.dice, 0, 1, 2))
	}
	u.tell("user: %s", Describe(m))
}
