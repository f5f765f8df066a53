package v1

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The defaults. The API server sets them; these are for objects that were stored before the CRD had them.
const (
	DefaultReplicas                = 3
	DefaultFailedPodsHistoryLimit  = 1
	DefaultRevisionHistoryLimit    = 10
	DefaultProgressDeadlineSeconds = 600
	DefaultGracePeriodSeconds      = 30
)

var (
	// defaultBudget is the default of maxSurge and of maxUnavailable.
	defaultBudget           = intstr.FromString("25%")
	defaultFailureThreshold = intstr.FromInt32(1)
)

// DesiredReplicas returns the desired number of pods.
func (m *PodManager) DesiredReplicas() int {
	return count(m.Spec.Replicas, DefaultReplicas)
}

// FailedPodsKept returns how many failed pods are kept for inspection.
func (m *PodManager) FailedPodsKept() int {
	return count(m.Spec.FailedPodsHistoryLimit, DefaultFailedPodsHistoryLimit)
}

// RevisionsKept returns how many revisions are kept that no pod uses.
func (m *PodManager) RevisionsKept() int {
	return count(m.Spec.RevisionHistoryLimit, DefaultRevisionHistoryLimit)
}

// ProgressDeadline returns how long a rollout may go on without progress.
func (m *PodManager) ProgressDeadline() time.Duration {
	return seconds(ptr.Deref(m.Spec.ProgressDeadlineSeconds, DefaultProgressDeadlineSeconds))
}

// MinReady returns how long a pod has to be ready before it is available.
func (m *PodManager) MinReady() time.Duration {
	return seconds(m.Spec.MinReadySeconds)
}

// Strategy returns the type of the update strategy.
func (m *PodManager) Strategy() UpdateStrategyType {
	if m.Spec.UpdateStrategy.Type == "" {
		return RollingUpdateStrategy
	}
	return m.Spec.UpdateStrategy.Type
}

// rolling returns spec.updateStrategy.rollingUpdate, or an empty value if it is not set.
func (m *PodManager) rolling() RollingUpdate {
	if limits := m.Spec.UpdateStrategy.RollingUpdate; limits != nil {
		return *limits
	}
	return RollingUpdate{}
}

// MaxSurge returns how many pods there may be in addition to the desired number.
func (m *PodManager) MaxSurge() int {
	if m.Strategy() != RollingUpdateStrategy {
		return 0
	}
	return scaled(ptr.Deref(m.rolling().MaxSurge, defaultBudget), m.DesiredReplicas(), true)
}

// MaxUnavailable returns how many of the desired pods an update may make unavailable. Without a surge it is at least 1, because
// otherwise no rollout could begin.
func (m *PodManager) MaxUnavailable() int {
	if m.Strategy() != RollingUpdateStrategy {
		return m.DesiredReplicas()
	}
	limit := scaled(ptr.Deref(m.rolling().MaxUnavailable, defaultBudget), m.DesiredReplicas(), false)
	if limit == 0 && m.MaxSurge() == 0 {
		limit = 1
	}
	return min(limit, m.DesiredReplicas())
}

// Partition returns how many pods are not updated. With a percentage below 100, at least one pod is updated.
func (m *PodManager) Partition() int {
	if m.Strategy() != RollingUpdateStrategy {
		return 0
	}
	return min(scaled(ptr.Deref(m.rolling().Partition, intstr.FromInt32(0)), m.DesiredReplicas(), false), m.DesiredReplicas())
}

// PodUpdatePolicy returns whether pods are replaced or updated in place.
func (m *PodManager) PodUpdatePolicy() PodUpdatePolicy {
	if policy := m.rolling().PodUpdatePolicy; policy != "" && m.Strategy() == RollingUpdateStrategy {
		return policy
	}
	return RecreatePods
}

// InPlaceGrace returns how long a pod is taken out of its Services before it is updated in place.
func (m *PodManager) InPlaceGrace() time.Duration {
	if m.PodUpdatePolicy() == RecreatePods {
		return 0
	}
	return seconds(m.rolling().InPlaceGracePeriodSeconds)
}

// OnFailure returns what happens when pods of a new template fail.
func (m *PodManager) OnFailure() FailureAction {
	if m.Spec.FailurePolicy.OnFailure == "" {
		return HaltOnFailure
	}
	return m.Spec.FailurePolicy.OnFailure
}

// FailureThreshold returns how many pods have to fail before OnFailure takes effect. A percentage is rounded down, so that it takes
// effect sooner rather than later.
func (m *PodManager) FailureThreshold() int {
	return max(1, scaled(ptr.Deref(m.Spec.FailurePolicy.FailureThreshold, defaultFailureThreshold), m.DesiredReplicas(), false))
}

// FailureGrace returns how long a failing pod has to recover.
func (m *PodManager) FailureGrace() time.Duration {
	return seconds(ptr.Deref(m.Spec.FailurePolicy.GracePeriodSeconds, DefaultGracePeriodSeconds))
}

// BakeTime returns how long the pods of a revision have to be available at the same time before the revision is good.
func (m *PodManager) BakeTime() time.Duration {
	if bake := m.Spec.FailurePolicy.BakeSeconds; bake != nil {
		return seconds(*bake)
	}
	return m.FailureGrace()
}

// PacesScaleDown reports whether the number of pods that may terminate at the same time is limited. An absolute number is a limit, however high.
func (m *PodManager) PacesScaleDown() bool {
	if m.Spec.ScaleDown == nil || m.Spec.ScaleDown.MaxTerminating == nil {
		return false
	}
	limit := m.Spec.ScaleDown.MaxTerminating
	// A value that the CRD would refuse is not a limit, neither here nor in the plan.
	percent, err := intstr.GetScaledValueFromIntOrPercent(limit, 100, true)
	return err == nil && (limit.Type == intstr.Int || percent < 100)
}

// count returns the value, or the default if there is none. A negative value is 0: the CRD refuses negative numbers, but an object
// may be older than that rule.
func count(value *int32, otherwise int32) int { return int(max(0, ptr.Deref(value, otherwise))) }

func seconds(count int32) time.Duration { return time.Duration(max(0, count)) * time.Second }

// scaled returns an absolute number as it is, and a percentage as a part of total. The CRD accepts only valid values, but an object
// may be older than that rule: an invalid value is 0, and a huge percentage is limited so that sums do not overflow.
func scaled(value intstr.IntOrString, total int, up bool) int {
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&value, total, up)
	if err != nil {
		return 0
	}
	return min(max(0, scaled), math.MaxInt32)
}

// NeedsNodes reports whether the controller has to watch nodes for the PodManager.
func (m *PodManager) NeedsNodes() bool {
	rules := m.Spec.Disruption
	return rules != nil && (rules.OnDrain == ReplaceDrain || rules.NodeLoss != nil)
}
