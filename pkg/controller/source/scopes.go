package source

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/access"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// ScopePhase is the phase of a scope, and the value of the metric's label.
type ScopePhase string

const (
	// ScopeStarting means that the rights are being reviewed, or the caches are filling.
	ScopeStarting ScopePhase = "starting"
	ScopeServed   ScopePhase = "served"
	// ScopeForbidden means that the controller lacks a right to list or watch.
	ScopeForbidden ScopePhase = "forbidden"
	// ScopeMissing means that the namespace does not exist.
	ScopeMissing ScopePhase = "missing"
	// ScopeNoCRD means that the API server no longer serves PodManagers.
	ScopeNoCRD ScopePhase = "noCRD"
)

var scopePhases = []ScopePhase{ScopeStarting, ScopeServed, ScopeForbidden, ScopeMissing, ScopeNoCRD}

// ScopeState is the state of a scope.
type ScopeState struct {
	Namespace string
	Phase     ScopePhase
	// Why is what is wrong and what to do about it. It is empty if nothing is wrong.
	Why string
}

// Name returns a name of the scope for people.
func (s ScopeState) Name() string {
	if s.Namespace == metav1.NamespaceAll {
		return "all namespaces"
	}
	return "namespace " + s.Namespace
}

// Scopes has all scopes of the controller. Each has its own runner: the informers of a scope start when the controller has the rights for it,
// and no scope waits for another.
type Scopes struct {
	runners []*scopeRunner
	served  chan struct{}
	serve   func() // closes served
	// life is done once the API server has gone back in time: rewound ends it.
	life    context.Context
	rewound context.CancelCauseFunc

	mu sync.Mutex // keeps an older count from overwriting a newer one in the metric
}

// NewScopes returns Scopes for scopes from NewScope. rights are what the controller needs in each of them.
func NewScopes(client kubernetes.Interface, scopes []Scope, rights []access.Right) *Scopes {
	s := &Scopes{served: make(chan struct{})}
	s.serve = sync.OnceFunc(func() { close(s.served) })
	s.life, s.rewound = context.WithCancelCause(context.Background())
	for _, scope := range scopes {
		for _, source := range scope.sources {
			source.rewound = s.rewound // before shards take it over
		}
		s.runners = append(s.runners, newScopeRunner(scope, s.changed, func(ctx context.Context) (access.Verdict, error) {
			return access.Review(ctx, client, scope.Namespace, rights)
		}))
	}
	return s
}

// Run runs the scopes until ctx is done, and returns when all their informers have stopped. It returns an error if the API server has gone
// back in time, because the caches are wrong then and stay wrong.
func (s *Scopes) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.life, stop)() //nolint:contextcheck // the API server may go back before Run
	var running sync.WaitGroup
	for _, runner := range s.runners {
		running.Go(func() { runner.run(ctx) })
	}
	s.changed()
	running.Wait()
	if err := context.Cause(s.life); errors.Is(err, errRewound) { //nolint:contextcheck // ctx may be done for another reason
		return err
	}
	return nil
}

// Served returns a channel that is closed once the first scope is served.
func (s *Scopes) Served() <-chan struct{} {
	return s.served
}

// States returns the states of all scopes.
func (s *Scopes) States() []ScopeState {
	var states []ScopeState
	for _, runner := range s.runners {
		states = append(states, runner.State())
	}
	return states
}

// PodManagers returns all PodManagers in the caches.
func (s *Scopes) PodManagers() (all []*v1.PodManager) {
	for _, runner := range s.runners {
		managers, _ := runner.scope.PodManagers.Lister().List(labels.Everything()) // a lister never fails
		all = append(all, managers...)
	}
	return all
}

// changed counts the scopes by phase after a state has changed.
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
	if counts[ScopeServed] > 0 {
		s.serve()
	}
}

// facts determine the state of a scope.
type facts struct {
	namespace string
	// verdict is the result of the last successful access review; err is the error of the last review, if it failed.
	verdict access.Verdict
	err     error
	synced  bool
	// refused has the resources whose list or watch was refused when an informer last tried.
	refused map[string]bool
	// noCRD means that the API server does not serve PodManagers.
	noCRD bool
}

func (f facts) state() ScopeState {
	state := ScopeState{Namespace: f.namespace}
	switch {
	case f.noCRD:
		state.Phase = ScopeNoCRD
		state.Why = fmt.Sprintf("the API server no longer knows podmanagers.%s; run kubectl apply -f artifacts/crd.yaml", v1.GroupName)
	case f.verdict.Missing:
		state.Phase, state.Why = ScopeMissing, "the namespace does not exist; create it, or correct -namespace"
	case !f.verdict.MayRead():
		state.Phase, state.Why = ScopeForbidden, f.verdict.Refusal(f.namespace)
	case f.err != nil && !f.synced:
		state.Phase, state.Why = ScopeStarting, "the API server does not answer access reviews"
	case len(f.refused) > 0:
		state.Phase, state.Why = ScopeStarting, "the rights are granted now, but an earlier list or watch was refused; it is retried within a minute"
	case !f.synced:
		state.Phase, state.Why = ScopeStarting, "the caches are not filled yet"
	case len(f.verdict.Lacking) > 0:
		state.Phase, state.Why = ScopeServed, f.verdict.Refusal(f.namespace)
	default:
		state.Phase = ScopeServed
	}
	return state
}
