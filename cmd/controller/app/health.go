package app

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/serve"
)

// livenessGrace is how long the liveness check still passes for a leader whose lease has expired and that neither renews it nor exits.
const livenessGrace = 20 * time.Second

// liveChecks returns checks that fail if only a restart helps.
func (r *controllerRole) liveChecks() []serve.Check {
	return r.leaderChecks(livenessGrace)
}

// readyChecks returns the checks of /readyz. They fail while no namespace is served, and for a leader whose Lease has expired. If the API server is
// unreachable, that alone does not make them fail: a standby can still take over with its caches.
func (r *controllerRole) readyChecks() []serve.Check {
	checks := []serve.Check{{Name: "namespaces", Run: r.checkNamespaces}}
	if states := r.caches.present.Load().States(); len(states) > 1 {
		for i, state := range states {
			checks = append(checks, serve.Check{Name: state.Name(), Run: func() (string, error) { return r.caches.present.Load().States()[i].Why, nil }})
		}
	}
	checks = append(checks, serve.Check{Name: "apiServer", Run: func() (string, error) { return r.contact.Warning(), nil }})
	if r.policies != nil {
		checks = append(checks, serve.Check{Name: "policy", Run: func() (string, error) { return r.policies.Warning(), nil }})
	}
	if r.shards != nil {
		checks = append(checks, r.shards.checks()...)
	}
	return append(checks, r.leaderChecks(0)...)
}

// checkNamespaces fails while no namespace is served.
func (r *controllerRole) checkNamespaces() (string, error) {
	states := r.caches.present.Load().States()
	isServed := func(s source.ScopeState) bool { return s.Phase == source.ScopeServed }
	switch {
	case len(states) == 1 && isServed(states[0]):
		return states[0].Why, nil
	case slices.ContainsFunc(states, isServed):
		return "", nil // each namespace has its own check
	case len(states) == 1:
		return "", fmt.Errorf("%s: %s", states[0].Name(), states[0].Why)
	}
	return "", errors.New("none is served")
}

// leaderChecks returns checks that fail for a leader that has not renewed its Lease for longer than the lease duration plus grace. They never fail
// for a standby.
func (r *controllerRole) leaderChecks(grace time.Duration) []serve.Check {
	if r.election == nil {
		return nil
	}
	return []serve.Check{{Name: "leaderElection", Run: func() (string, error) { return "", r.election.Check(grace) }}}
}
