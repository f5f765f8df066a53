package world

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

// edit lets the user change the spec.
func (w *World) edit() {
	w.Manager = w.Manager.DeepCopy()
	w.Manager.Generation++
	w.holds = map[plan.HoldKey]plan.Hold{} // a changed spec gets a fresh try
	for {
		w.editOne(&w.Manager.Spec)
		if w.chance(0.7) {
			return
		}
	}
}

func (w *World) editOne(spec *v1.PodManagerSpec) {
	switch what := w.dice.IntN(16); {
	case what < 3:
		spec.Replicas = ptr.To(w.size())
		if w.chance(0.1) {
			spec.Replicas = ptr.To[int32](0)
		}
		w.say("user: %d replicas", *spec.Replicas)
	case what < 6:
		spec.Template = w.randomTemplate()
		if w.chance(0.4) {
			spec.Template = w.templates[w.dice.IntN(len(w.templates))]
		}
		w.templates = append(w.templates, spec.Template)
		w.say("user: template %v", spec.Template.Spec.Containers)
	case what < 9:
		spec.Paused = !spec.Paused
		w.say("user: paused %v", spec.Paused)
	case what == 9 && w.Manager.PodUpdatePolicy() != v1.InPlaceOnly: // where it is refused
		spec.RestartAt = ptr.To(metav1.NewTime(w.Now.Truncate(time.Minute)))
		w.say("user: restart at %v", spec.RestartAt)
	case what < 12 && spec.UpdateStrategy.RollingUpdate != nil:
		w.editRolling(spec.UpdateStrategy.RollingUpdate)
	case what == 12 && w.chance(0.5):
		spec.UpdateStrategy = w.strategy()
		w.say("user: strategy %s", describeStrategy(w.Manager))
	default:
		w.editRest(spec)
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
	w.say("user: %s", describeStrategy(w.Manager))
}

// editRest changes what people seldom do.
func (w *World) editRest(spec *v1.PodManagerSpec) {
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
	w.say("user: %s", w.Describe())
}
