package v1

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// A PodManager that was stored before the CRD had its rules may contain any value. The limits stay in a range in which they can be added up and kept.
func FuzzLimits(f *testing.F) {
	f.Add(int32(3), "25%", "25%", "0", "1", "100%")
	f.Add(int32(10), "0", "0", "50%", "30%", "1")
	f.Add(int32(0), "100%", "100%", "100%", "100%", "1%")
	f.Add(int32(-5), "-1", "-20%", "-1", "-1", "-7%")
	f.Add(int32(math.MaxInt32), "9223372036854775807%", "2147483647", "99999999999999999999%", "x%", "")
	f.Fuzz(func(t *testing.T, replicas int32, surge, unavailable, partition, failed, terminating string) {
		parsed := func(text string) *intstr.IntOrString {
			value := intstr.Parse(text)
			return &value
		}
		limits := &RollingUpdate{MaxSurge: parsed(surge), MaxUnavailable: parsed(unavailable), Partition: parsed(partition)}
		m := &PodManager{Spec: PodManagerSpec{
			Replicas: &replicas, UpdateStrategy: UpdateStrategy{RollingUpdate: limits}, RevisionHistoryLimit: &replicas, FailedPodsHistoryLimit: &replicas,
			FailurePolicy: FailurePolicy{FailureThreshold: parsed(failed), GracePeriodSeconds: &replicas}, MinReadySeconds: replicas,
			ScaleDown: &ScaleDown{MaxTerminating: parsed(terminating)},
		}}
		desired := m.DesiredReplicas()
		within := func(name string, value, least, most int) {
			if value < least || value > most {
				t.Errorf("%s is %d, and not from %d to %d", name, value, least, most)
			}
		}
		within("replicas", desired, 0, math.MaxInt32)
		within("maxSurge", m.MaxSurge(), 0, math.MaxInt32)
		within("maxUnavailable", m.MaxUnavailable(), 0, desired)
		within("partition", m.Partition(), 0, desired)
		within("failureThreshold", m.FailureThreshold(), 1, math.MaxInt32)
		within("revisionHistoryLimit", m.RevisionsKept(), 0, math.MaxInt32)
		within("failedPodsHistoryLimit", m.FailedPodsKept(), 0, math.MaxInt32)
		if m.MinReady() < 0 || m.FailureGrace() < 0 {
			t.Errorf("times are %v and %v", m.MinReady(), m.FailureGrace())
		}
		if desired > 0 && m.MaxSurge() == 0 && m.MaxUnavailable() == 0 {
			t.Error("no rollout could begin")
		}
		// A percentage is rounded up for pods above the wanted number, and down for pods below it.
		limits.MaxSurge = limits.MaxUnavailable
		if up, down := m.MaxSurge(), m.MaxUnavailable(); min(up, desired) < down && up > 0 {
			t.Errorf("%s of %d is %d above and %d below", unavailable, desired, up, down)
		}
		m.PacesScaleDown()
	})
}
