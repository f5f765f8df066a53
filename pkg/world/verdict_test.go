package world

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// policy is a failure policy with its defaults.
type policy struct {
	onFailure   v1.FailureAction
	threshold   string
	grace, bake time.Duration
}

func policyOf(m *v1.PodManager) policy {
	threshold := ptr.Deref(m.Spec.FailurePolicy.FailureThreshold, intstr.FromInt32(1))
	return policy{m.OnFailure(), threshold.String(), m.FailureGrace(), m.BakeTime()}
}

// verdicts is what the judge remembers of failing pods from one sync to the next.
type verdicts struct {
	// policy is the policy that the last written status with failing pods was made for.
	policy policy
	// forget undoes what noticePolicy did, in case no status is written before the user takes back the change.
	forget func()
	// down has, for each pod, since when every sync with a written status has found it not ready on a node that is not lost, and named it as failing.
	down map[*corev1.Pod]time.Time
	// active are the pods that counted after the last sync in which no request failed, or after one since.
	active map[types.UID]bool
}

// named returns the failing pods that the status names for the new revision, and whether there are any.
func (w *World) named() (pods []v1.FailingPod, found bool) {
	told := w.Manager.Status.Rollout
	if told == nil || told.Revision != w.Manager.Name+"-"+w.updateHash {
		return nil, false
	}
	return told.Failing, len(told.Failing) > 0
}

func (w *World) isNamed(p *corev1.Pod) bool {
	pods, _ := w.named()
	return slices.ContainsFunc(pods, func(f v1.FailingPod) bool { return f.UID == p.UID && !f.Recovered })
}

// note is called after the status was reported. A status that was not written has reported nothing.
func (v *verdicts) note(w *World) {
	if w.statusUnwritten {
		return
	}
	v.forget = nil
	if _, found := w.named(); found {
		v.policy = policyOf(w.Manager)
	}
	before := v.down
	v.down = map[*corev1.Pod]time.Time{}
	for _, p := range w.activePods() {
		if !w.isNamed(p) || nodes.IsReady(p) || w.IsLost(p) || w.hashOf(p) != w.updateHash {
			continue
		}
		since, wasDown := before[p]
		if v.down[p] = since; !wasDown {
			v.down[p] = w.Now
		}
	}
}

// noticePolicy judges failures anew when the user has changed the failure policy: failures of pods that are gone or ready no longer count, and other
// pods get their full time to recover again.
func (v *verdicts) noticePolicy(w *World) {
	_, found := w.named()
	if !found || v.policy == policyOf(w.Manager) {
		if v.forget != nil {
			v.forget()
			v.forget = nil
		}
		return
	}
	w.logf("  the failure policy has changed")
	if v.forget == nil {
		v.forget = w.rememberBlame()
	}
	v.down = nil
	w.lostBlames = slices.DeleteFunc(w.lostBlames, func(b blame) bool { return b.revision == w.updateHash })
	for _, p := range w.Pods {
		hidden := w.hidden[p.UID]
		switch {
		case hidden.blame.since.IsZero() || hidden.blame.revision != w.updateHash:
		case nodes.IsReady(p):
			hidden.blame = blame{}
		default:
			hidden.blame = blame{revision: w.updateHash, failedAt: hidden.blame.failedAt, since: w.Now, anew: true}
		}
	}
}

// rememberBlame returns a function that restores the blame as it is now.
func (w *World) rememberBlame() func() {
	lost, blames := slices.Clone(w.lostBlames), map[types.UID]blame{}
	for uid, hidden := range w.hidden {
		blames[uid] = hidden.blame
	}
	return func() {
		w.lostBlames = lost
		for uid, b := range blames {
			if hidden := w.hidden[uid]; hidden != nil {
				hidden.blame = b
			}
		}
	}
}

// isUnderObservation reports whether the new revision is being rolled out, so that its failures count.
func (s *synced) isUnderObservation() bool {
	status := &s.status
	return !s.statusUnwritten && status.CurrentRevision != status.UpdateRevision && status.FailedRevision != status.UpdateRevision && !s.isUnstarted()
}

// isUnstarted reports whether the PodManager was paused from the start, so that it judges nothing.
func (s *synced) isUnstarted() bool { return s.Manager.Spec.Paused && s.status.CurrentRevision == "" }

// checkNamed checks that the status names each pod of the new revision in which a container has failed and is waiting for its next start.
func (s *synced) checkNamed() error {
	named, _ := s.named()
	if !s.isUnderObservation() || len(named) >= 100 {
		return nil
	}
	for _, p := range s.activePods() {
		if s.hashOf(p) == s.updateHash && s.isBlamed(p) && s.showsFailure(p) && !s.isNamed(p) {
			return fmt.Errorf("%s fails, and is not named: %+v", p.Name, named)
		}
	}
	return nil
}

// showsFailure reports whether the status of a pod that was never updated in place shows without doubt that it has failed on its own.
func (s *synced) showsFailure(p *corev1.Pod) bool {
	hidden := s.hidden[p.UID]
	if hidden.updates > 0 || hidden.byHand || hidden.interrupted || !s.isOurs(p) || nodes.Condition(p, corev1.DisruptionTarget) != nil {
		return false
	}
	for _, container := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		last := container.LastTerminationState.Terminated
		if container.State.Waiting != nil && container.State.Waiting.Reason == "CrashLoopBackOff" && last != nil && last.Reason == "Error" {
			return true
		}
	}
	return false
}

// checkInTime checks that a revision is rolled back once failureThreshold pods have been failing, and not ready, for the whole grace period.
func (s *synced) checkInTime() error {
	m := s.Manager
	isStored := slices.ContainsFunc(s.observed.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == s.before.CurrentRevision })
	if !s.isUnderObservation() || m.OnFailure() != v1.RollbackOnFailure || m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy || !isStored {
		return nil
	}
	late := 0
	for _, since := range s.verdicts.down {
		if s.Now.Sub(since) >= m.FailureGrace()+2*time.Second {
			late++
		}
	}
	if late >= m.FailureThreshold() {
		return fmt.Errorf("%d pods have failed for longer than %v, and nothing is rolled back: %s", late, m.FailureGrace(), messageOf(&s.status, v1.ConditionReady))
	}
	return nil
}
