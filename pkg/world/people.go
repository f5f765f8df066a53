package world

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// editSpec lets the user edit one or more fields of the spec.
func (w *World) editSpec() {
	w.applyEdit(func(spec *v1.PodManagerSpec) {
		for again := true; again; again = w.chance(0.3) {
			w.editField(spec)
		}
	})
}

// applyEdit applies one edit of the spec.
func (w *World) applyEdit(edit func(*v1.PodManagerSpec)) {
	w.Manager = w.Manager.DeepCopy()
	w.Manager.Generation++
	w.holds = map[requeue.HoldKey]requeue.Hold{} // an edit ends all holds
	edit(&w.Manager.Spec)
}

// editAfterCrash lets the user, sometimes, edit the template after a crash.
func (w *World) editAfterCrash() {
	if w.chance(0.4) {
		w.applyEdit(w.editTemplate)
	}
}

// scaleToZeroIfStuck lets the user, sometimes, scale to zero if the rollout is stuck.
func (w *World) scaleToZeroIfStuck() {
	ready := meta.FindStatusCondition(w.Manager.Status.Conditions, v1.ConditionReady)
	isStuck := ready != nil && slices.Contains([]string{v1.ReasonPaused, v1.ReasonHalted, v1.ReasonRolledBack, v1.ReasonNotInPlace}, ready.Reason)
	if isStuck && w.chance(0.5) {
		w.applyEdit(func(spec *v1.PodManagerSpec) { spec.Replicas = ptr.To[int32](0) })
		w.logf("user: gives up, 0 replicas")
	}
}

func (w *World) editTemplate(spec *v1.PodManagerSpec) {
	template := w.randomTemplate()
	switch image := template.Spec.Containers[0].Image; {
	case w.chance(0.3):
		template = w.templates[w.dice.IntN(len(w.templates))]
	case w.chance(0.5): // most releases change only the image
		template = spec.Template.DeepCopy()
		template.Spec.Containers[0].Image = image
	}
	spec.Template = template
	w.templates = append(w.templates, spec.Template)
	w.logf("user: template %s", describeTemplate(spec.Template))
}

// describeTemplate describes the fields in which templates differ.
func describeTemplate(template *corev1.PodTemplateSpec) string {
	text := template.Annotations["note"]
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			requests := list[i].Resources.Requests
			text += fmt.Sprintf(" %s=%s %v %v", list[i].Name, list[i].Image, requests.Cpu(), requests.Memory())
			for _, env := range list[i].Env {
				text += " " + env.Name + "=" + env.Value
			}
		}
	}
	return text
}

func (w *World) editField(spec *v1.PodManagerSpec) {
	switch what := w.dice.IntN(16); {
	case what < 3:
		spec.Replicas = ptr.To(w.size())
		if w.chance(0.1) {
			spec.Replicas = ptr.To[int32](0)
		}
		w.logf("user: %d replicas", *spec.Replicas)
	case what < 6:
		w.editTemplate(spec)
	case what < 9:
		spec.Paused = !spec.Paused
		w.logf("user: paused %v", spec.Paused)
	case what == 9 && w.Manager.PodUpdatePolicy() != v1.InPlaceOnly: // a restart cannot be done in place
		spec.RestartAt = ptr.To(metav1.NewTime(w.Now.Truncate(time.Minute)))
		w.logf("user: restart at %v", spec.RestartAt)
	case what < 12 && spec.UpdateStrategy.RollingUpdate != nil:
		w.editRolling(spec.UpdateStrategy.RollingUpdate)
	case what == 12 && w.chance(0.5):
		spec.UpdateStrategy = w.strategy()
		w.logf("user: strategy %s", describeStrategy(w.Manager))
	default:
		w.editSeldomField(spec)
	}
}

// editRolling changes the limits of a rolling update.
func (w *World) editRolling(rolling *v1.RollingUpdate) {
	switch w.dice.IntN(8) {
	case 0:
		rolling.MaxSurge = w.budget()
	case 1:
		rolling.MaxUnavailable = w.budget()
	case 2:
		rolling.PodUpdatePolicy = w.updatePolicy()
	case 3:
		rolling.InPlaceGracePeriodSeconds = w.inPlaceGrace()
	default:
		rolling.Partition = w.partition()
	}
	w.logf("user: %s", describeStrategy(w.Manager))
}

// editSeldomField edits a field that users seldom edit.
func (w *World) editSeldomField(spec *v1.PodManagerSpec) {
	switch w.dice.IntN(7) {
	case 0:
		spec.MinReadySeconds = w.minReady()
	case 1:
		spec.FailurePolicy = w.failurePolicy()
	case 2:
		spec.FailurePolicy.GracePeriodSeconds = w.failurePolicy().GracePeriodSeconds
	case 3:
		spec.ProgressDeadlineSeconds = w.deadlineSeconds()
	case 4:
		spec.PodReplacementPolicy = pick(w, v1.TerminationStarted, v1.TerminationComplete)
	case 5:
		spec.ScaleDown = w.scaleDown()
	default:
		spec.RevisionHistoryLimit, spec.FailedPodsHistoryLimit = ptr.To(pick[int32](w, 0, 1, 10)), ptr.To(pick[int32](w, 0, 1, 2))
	}
	w.logf("user: %s", w.Describe())
}
