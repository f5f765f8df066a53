package source

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/access"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// tidyAfter is how long after the first caches are filled the memory that this took is given back. Whatever the start
// brought to do is done by then.
const tidyAfter = 30 * time.Second

// ScopePhase is where a scope is in its life, as the metric calls it.
type ScopePhase string

const (
	// ScopeStarting is one whose rights are looked at, or whose caches are filling.
	ScopeStarting ScopePhase = "starting"
	ScopeServed   ScopePhase = "served"
	// ScopeForbidden is one that we may not read, or no longer.
	ScopeForbidden ScopePhase = "forbidden"
	// ScopeMissing is a namespace that does not exist.
	ScopeMissing ScopePhase = "missing"
	// ScopeNoCRD is one in which PodManagers are no longer known.
	ScopeNoCRD ScopePhase = "noCRD"
)

var scopePhases = []ScopePhase{ScopeStarting, ScopeServed, ScopeForbidden, ScopeMissing, ScopeNoCRD}

// ScopeState is how a scope fares.
type ScopeState struct {
	Namespace string
	Phase     ScopePhase
	// Why says what is not as it should be, and what to do; empty if there is nothing.
	Why string
}

// Name is that of the namespace, for people.
func (s ScopeState) Name() string {
	if s.Namespace == metav1.NamespaceAll {
		return "all namespaces"
	}
	return "namespace " + s.Namespace
}

// Scopes are all that the controller is to watch. Each has a life of its own: its informers start when its rights are
// there, and what it lacks keeps none of the others waiting.
type Scopes struct {
	lives  []*life
	served chan struct{}

	mu        sync.Mutex // guards what follows, and makes the counts those of one moment
	wasServed bool
}

// NewScopes takes scopes that NewScope has made.
func NewScopes(client kubernetes.Interface, scopes []Scope) *Scopes {
	s := &Scopes{served: make(chan struct{})}
	for _, scope := range scopes {
		scope.life.look = access.Reviewer{Client: client}.Look
		scope.life.changed = s.changed
		s.lives = append(s.lives, scope.life)
	}
	return s
}

// Run looks after the scopes until ctx is done, and returns when none of their informers runs any more.
func (s *Scopes) Run(ctx context.Context) {
	s.changed()
	var running sync.WaitGroup
	for _, life := range s.lives {
		running.Go(func() { life.run(ctx) })
	}
	running.Wait()
}

// Served is closed once the caches of one scope are filled.
func (s *Scopes) Served() <-chan struct{} {
	return s.served
}

// States tells how all of them fare.
func (s *Scopes) States() []ScopeState {
	var states []ScopeState
	for _, life := range s.lives {
		states = append(states, life.State())
	}
	return states
}

// changed counts anew after a change of a state.
func (s *Scopes) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[ScopePhase]int{}
	for _, state := range s.States() {
		counts[state.Phase]++
	}
	for _, phase := range scopePhases {
		metrics.Namespaces.WithLabelValues(string(phase)).Set(float64(counts[phase]))
	}
	if counts[ScopeServed] > 0 && !s.wasServed {
		s.wasServed = true
		close(s.served)
		time.AfterFunc(tidyAfter, debug.FreeOSMemory) // filling the caches leaves more garbage behind than there is in them
	}
}

// facts are what the state of a scope follows from.
type facts struct {
	namespace string
	// verdict is what was last found out about its rights; err says why the last look has found out nothing.
	verdict access.Verdict
	err     error
	synced  bool
	// refused are the resources that its informers were last refused.
	refused map[string]bool
	// noCRD says that PodManagers are not known to the API server.
	noCRD bool
}

func (f facts) state() ScopeState {
	state := ScopeState{Namespace: f.namespace}
	switch {
	case f.noCRD:
		state.Phase = ScopeNoCRD
		state.Why = fmt.Sprintf("the API server no longer knows podmanagers.%s; run kubectl apply -f artifacts/crd.yaml", v1.GroupName)
	case f.verdict.Missing:
		state.Phase, state.Why = ScopeMissing, "it does not exist; create it, or correct -namespace"
	case !f.verdict.MayRead():
		state.Phase, state.Why = ScopeForbidden, f.verdict.Refusal(f.namespace)
	case f.err != nil && !f.synced:
		state.Phase, state.Why = ScopeStarting, "the API server does not tell what is permitted"
	case len(f.refused) > 0:
		state.Phase, state.Why = ScopeStarting, "it is permitted now, but was refused before; that is tried again within a minute"
	case !f.synced:
		state.Phase, state.Why = ScopeStarting, "its caches are not filled yet"
	case len(f.verdict.Lacking) > 0:
		state.Phase, state.Why = ScopeServed, f.verdict.Refusal(f.namespace)
	default:
		state.Phase = ScopeServed
	}
	return state
}
