package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// What is not permitted is asked for again after firstLook, then ever later, up to lastLook and a fifth.
	firstLook = time.Second
	lastLook  = 25 * time.Second

	// tidyAfter is how long after the first caches are filled the memory that this took is given back. Whatever the start
	// brought to do is done by then.
	tidyAfter = 30 * time.Second
)

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
		scope.life.look = access{client}.look
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
		namespaces.WithLabelValues(string(phase)).Set(float64(counts[phase]))
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
	verdict verdict
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
	case f.verdict.missing:
		state.Phase, state.Why = ScopeMissing, "it does not exist; create it, or correct -namespace"
	case !f.verdict.mayRead():
		state.Phase, state.Why = ScopeForbidden, f.verdict.refusal(f.namespace)
	case f.err != nil && !f.synced:
		state.Phase, state.Why = ScopeStarting, "the API server does not tell what is permitted"
	case len(f.refused) > 0:
		state.Phase, state.Why = ScopeStarting, "it is permitted now, but was refused before; that is tried again within a minute"
	case !f.synced:
		state.Phase, state.Why = ScopeStarting, "its caches are not filled yet"
	case len(f.verdict.lacking) > 0:
		state.Phase, state.Why = ScopeServed, f.verdict.refusal(f.namespace)
	default:
		state.Phase = ScopeServed
	}
	return state
}

// life is that of one scope.
type life struct {
	scope   Scope
	look    func(ctx context.Context, namespace string, rights []right) (verdict, error)
	changed func() // called whenever State has
	doubts  chan struct{}

	mu    sync.Mutex
	facts facts
	told  ScopeState
	// troubled says that something was not as it should be, so that its end is worth a line.
	troubled bool
}

func newLife(scope Scope) *life {
	start := facts{namespace: scope.Namespace, refused: map[string]bool{}}
	return &life{scope: scope, doubts: make(chan struct{}, 1), facts: start, told: start.state()}
}

// State tells how the scope fares.
func (l *life) State() ScopeState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told
}

// run starts the scope's informers when they are permitted, and looks after its rights until ctx is done.
func (l *life) run(ctx context.Context) {
	for source := range l.scope.sources() {
		source.answered = func(err error) { l.answered(ctx, source.name, err) }
	}
	var starting sync.WaitGroup
	defer func() {
		starting.Wait()
		for _, factory := range l.scope.factories {
			factory.Shutdown()
		}
	}()
	started := false
	for delay := time.Duration(0); ; {
		if !started && l.mayRead(ctx) { // all the others are looked at while the caches fill
			started = true
			starting.Go(func() { l.start(ctx) })
		}
		found, err := l.look(ctx, l.scope.Namespace, rights)
		if ctx.Err() != nil {
			return
		}
		l.note(ctx, func(f *facts) {
			f.err = err
			if err == nil {
				f.verdict = found
			}
		})
		isDone := started && err == nil && found.isAll()
		if delay = nextLook(delay, isDone); !l.awaitLook(ctx, delay) {
			return
		}
	}
}

// mayRead tells whether the informers can be expected to work.
func (l *life) mayRead(ctx context.Context) bool {
	found, err := l.look(ctx, l.scope.Namespace, toRead)
	return err == nil && found.mayRead()
}

// nextLook is how long to wait before looking at the rights again; 0 stands for until there is a doubt about them.
func nextLook(last time.Duration, isDone bool) time.Duration {
	switch {
	case isDone:
		return 0
	case last == 0:
		return firstLook
	}
	return min(2*last, lastLook)
}

// awaitLook waits for that, and tells whether the time has come.
func (l *life) awaitLook(ctx context.Context, delay time.Duration) bool {
	var due <-chan time.Time
	if delay > 0 {
		due = time.After(wait.Jitter(delay, 0.2))
	}
	select {
	case <-due:
	case <-l.doubts:
	case <-ctx.Done():
		return false
	}
	return true
}

// start starts the informers, and waits until their caches are filled.
func (l *life) start(ctx context.Context) {
	for _, factory := range l.scope.factories {
		factory.StartWithContext(ctx)
	}
	if cache.WaitFor(ctx, "", l.scope.filled()...) {
		l.note(ctx, func(f *facts) { f.synced = true })
	}
}

// doubt makes the rights be looked at again: a request was refused.
func (l *life) doubt() {
	select {
	case l.doubts <- struct{}{}:
	default: // is already asked for
	}
}

// answered takes in how a request of an informer went.
func (l *life) answered(ctx context.Context, resource string, err error) {
	if apierrors.IsForbidden(err) {
		// Which rights are lacking is told all at once, after a look.
		l.mu.Lock()
		l.facts.refused[resource] = true
		l.mu.Unlock()
		l.doubt()
		return
	}
	l.note(ctx, func(f *facts) {
		if err == nil {
			delete(f.refused, resource)
		}
		if resource == string(managersResource) && (err == nil || apierrors.IsNotFound(err)) {
			f.noCRD = err != nil
		}
	})
}

// note changes the facts, and tells what follows from that if it is new.
func (l *life) note(ctx context.Context, change func(*facts)) {
	l.mu.Lock()
	change(&l.facts)
	state := l.facts.state()
	isNew := state != l.told
	if isNew {
		l.told = state
		l.tell(klog.LoggerWithValues(klog.FromContext(ctx), "scope", state.Name(), "state", state.Phase))
	}
	l.mu.Unlock()
	if isNew {
		l.changed()
	}
}

func (l *life) tell(logger klog.Logger) {
	wasTroubled := l.troubled
	l.troubled = l.told.Why != ""
	switch {
	case l.told.Phase == ScopeStarting && l.facts.err != nil:
		logger.Error(l.facts.err, "Not served yet", "why", l.told.Why)
	case l.told.Phase == ScopeStarting:
		logger.V(2).Info("Not served yet", "why", l.told.Why)
	case l.told.Phase != ScopeServed:
		logger.Error(errors.New(l.told.Why), "Not served; taken up as soon as it can be")
	case l.told.Why != "":
		logger.Error(errors.New(l.told.Why), "Served, but not all of it works")
	case wasTroubled:
		logger.Info("Served")
	default:
		logger.V(2).Info("Served")
	}
}

// takeUp gives the events of a scope to the workers from the time on at which its caches are filled: no sync may rest on
// half of them. What is in them by then comes as if it had just been added.
func (c *Controller) takeUp(ctx context.Context, scope Scope) {
	if !cache.WaitFor(ctx, "", scope.filled()...) {
		return
	}
	if err := c.addHandlers(scope); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Cannot follow what happens", "namespace", scope.Namespace)
	}
}
