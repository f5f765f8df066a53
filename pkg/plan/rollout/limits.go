package rollout

import (
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Budget is how many pods the spec wants, and by how much a rollout may exceed or go below that number. Everything that limits the number of pods or
// of available pods takes these values from here.
type Budget struct {
	// Desired is spec.replicas.
	Desired int
	// MaxSurge is how many pods there may be above Desired, and MaxUnavailable how many of the desired pods an update may make unavailable.
	// Strategies other than RollingUpdate have a MaxSurge of 0 and a MaxUnavailable of all pods.
	MaxSurge, MaxUnavailable int
	// MinAvailable is how many pods have to stay available during a rollout.
	MinAvailable int
	// MinAvailableForMarked is how many pods have to stay available while pods that are marked for deletion are replaced.
	MinAvailableForMarked int
	// MinAvailableToProve is how many pods have to be available at the same time to prove a revision.
	MinAvailableToProve int
	// MinAvailableToServe is how many pods have to be available for the condition Available to be true.
	MinAvailableToServe int
}

// BudgetOf returns the budget of a PodManager. Where a strategy has no maxUnavailable, a quarter of the pods takes its place, except in the condition
// Available, which then needs all pods.
func BudgetOf(manager *v1.PodManager) Budget {
	b := Budget{Desired: manager.DesiredReplicas(), MaxSurge: manager.MaxSurge(), MaxUnavailable: manager.MaxUnavailable()}
	b.MinAvailable = b.Desired - b.MaxUnavailable
	if manager.Strategy() == v1.RollingUpdateStrategy {
		b.MinAvailableForMarked, b.MinAvailableToProve, b.MinAvailableToServe = b.MinAvailable, max(1, b.MinAvailable), b.MinAvailable
		return b
	}
	quarter := b.Desired / 4
	b.MinAvailableForMarked, b.MinAvailableToProve, b.MinAvailableToServe = b.Desired-max(1, quarter), max(1, b.Desired-quarter), b.Desired
	return b
}
