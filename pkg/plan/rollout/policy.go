package rollout

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

// When the user changes the failure policy, failures are judged anew: failures of pods that are gone or ready again no longer count, and pods that
// still fail get their full time to recover.

// policyInWords returns the failure policy in the form that status.rollout.judgedBy has. Two policies with the same effect have the same words.
func (r *State) policyInWords() string {
	threshold := ptr.Deref(r.Manager.Spec.FailurePolicy.FailureThreshold, intstr.FromInt32(1))
	return fmt.Sprintf("onFailure %s, failureThreshold %s, gracePeriodSeconds %d, bakeSeconds %d", r.Manager.OnFailure(), &threshold,
		r.Manager.FailureGrace()/time.Second, r.Manager.BakeTime()/time.Second)
}

// hasOtherPolicy reports whether the user has changed the failure policy since the failures in the status were judged.
func (r *State) hasOtherPolicy() bool {
	judgedBy := r.Manager.Status.Rollout.JudgedBy
	return judgedBy != "" && judgedBy != r.policyInWords()
}

// recordedFailures returns the failures that the status records. After a change of the failure policy, all of them are over, and only those of pods
// that still exist are returned, so that their earlier crashes are not mistaken for new ones.
func (r *State) recordedFailures(pods map[types.UID]*corev1.Pod) []v1.FailingPod {
	recorded := r.Manager.Status.Rollout.Failing
	if !r.hasOtherPolicy() {
		return recorded
	}
	var over []v1.FailingPod
	for _, record := range recorded {
		if pod := pods[record.UID]; pod != nil {
			record.Recovered, record.Condemned, record.ReadySince, record.Crashes = true, false, nil, inplace.AllCrashes(pod)
			over = append(over, record)
		}
	}
	return over
}
