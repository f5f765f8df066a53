package source

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller/access"
)

// What is not permitted is asked for again after firstLook, then ever later, up to lastLook and a fifth.
const (
	firstLook = time.Second
	lastLook  = 25 * time.Second
)

// life is that of one scope.
type life struct {
	scope   Scope
	look    func(ctx context.Context, namespace string, rights []access.Right) (access.Verdict, error)
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
		found, err := l.look(ctx, l.scope.Namespace, access.All)
		if ctx.Err() != nil {
			return
		}
		l.note(ctx, func(f *facts) {
			f.err = err
			if err == nil {
				f.verdict = found
			}
		})
		isDone := started && err == nil && found.IsAll()
		if delay = nextLook(delay, isDone); !l.awaitLook(ctx, delay) {
			return
		}
	}
}

// mayRead tells whether the informers can be expected to work.
func (l *life) mayRead(ctx context.Context) bool {
	found, err := l.look(ctx, l.scope.Namespace, access.ToRead)
	return err == nil && found.MayRead()
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
	if cache.WaitFor(ctx, "", l.scope.Filled()...) {
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
		if resource == string(ManagersResource) && (err == nil || apierrors.IsNotFound(err)) {
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
