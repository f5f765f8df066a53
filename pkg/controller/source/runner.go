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

// While rights are lacking, they are reviewed again with a backoff from minReviewDelay to maxReviewDelay, plus up to a fifth.
const (
	minReviewDelay = time.Second
	maxReviewDelay = 25 * time.Second
)

// The first review of all rights waits for the caches for longestFill at the most, and for the first syncs for reviewAfterFill.
const (
	longestFill     = 3 * time.Second
	reviewAfterFill = 300 * time.Millisecond
)

// scopeRunner starts the informers of one scope when the controller has the rights, and keeps the state of the scope.
type scopeRunner struct {
	scope  Scope
	review func(ctx context.Context, namespace string, rights []access.Right) (access.Verdict, error)
	// rights are all that the controller needs.
	rights  []access.Right
	changed func() // called after each change of State
	// reviewNow asks run for a review before the delay is over.
	reviewNow chan struct{}

	mu    sync.Mutex
	facts facts
	state ScopeState
	// isPart tells that another runner reviews the rights, and logs what is wrong.
	isPart bool
	// hadProblem tells that the last logged state had a problem, so that its end is logged, too.
	hadProblem bool
}

func newScopeRunner(scope Scope) *scopeRunner {
	start := facts{namespace: scope.Namespace, refused: map[string]bool{}}
	return &scopeRunner{scope: scope, reviewNow: make(chan struct{}, 1), facts: start, state: start.state()}
}

// dependOn makes the runner of a part go by the rights that the runner of the whole has found.
func (r *scopeRunner) dependOn(whole *scopeRunner) {
	r.isPart, r.changed = true, func() {}
	r.review = func(context.Context, string, []access.Right) (access.Verdict, error) {
		whole.mu.Lock()
		defer whole.mu.Unlock()
		if !whole.facts.synced {
			return access.Verdict{}, errNotServed
		}
		return whole.facts.verdict, whole.facts.err
	}
}

// errNotServed is why no part of a scope is served.
var errNotServed = errors.New("the caches of the namespace are not filled yet")

// State is the state of the scope.
func (r *scopeRunner) State() ScopeState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// run starts the informers of the scope once they have the rights to list and watch, and reviews the rights until ctx is done.
func (r *scopeRunner) run(ctx context.Context) {
	for source := range r.scope.sources() {
		source.answered = func(err error) { r.answered(ctx, source.resource.Resource, err) }
	}
	defer r.scope.joinWhole()()
	var starting sync.WaitGroup
	defer func() {
		starting.Wait()
		for _, factory := range r.scope.factories {
			factory.Shutdown()
		}
	}()
	started := false
	for delay := time.Duration(0); ; {
		if !started && r.mayRead(ctx) {
			started = true
			filled := make(chan struct{})
			starting.Go(func() { defer close(filled); r.start(ctx) })
			r.letFill(ctx, filled)
		}
		verdict, err := r.review(ctx, r.scope.Namespace, r.rights)
		if ctx.Err() != nil {
			return
		}
		r.updateFacts(ctx, func(f *facts) {
			f.err = err
			if err == nil {
				f.verdict = verdict
			}
		})
		isDone := started && err == nil && verdict.IsComplete()
		if delay = nextReviewDelay(delay, isDone); !r.awaitReview(ctx, delay) {
			return
		}
	}
}

// letFill waits until the caches are filled and the first syncs are done, before the other rights are reviewed: many requests at once would
// slow both down. It does not wait for long, in case there are problems that the review explains.
func (r *scopeRunner) letFill(ctx context.Context, filled <-chan struct{}) {
	limit := time.After(longestFill)
	for {
		select {
		case <-filled:
			filled, limit = nil, time.After(reviewAfterFill)
		case <-limit:
			return
		case <-r.reviewNow:
			return
		case <-ctx.Done():
			return
		}
	}
}

// mayRead tells whether the informers have the rights to list and watch.
func (r *scopeRunner) mayRead(ctx context.Context) bool {
	verdict, err := r.review(ctx, r.scope.Namespace, access.ToRead)
	return err == nil && verdict.MayRead()
}

// nextReviewDelay is how long to wait before the next review of the rights; 0 means until a request is refused.
func nextReviewDelay(last time.Duration, isDone bool) time.Duration {
	switch {
	case isDone:
		return 0
	case last == 0:
		return minReviewDelay
	}
	return min(2*last, maxReviewDelay)
}

// awaitReview waits until the next review is due. It returns false when ctx is done.
func (r *scopeRunner) awaitReview(ctx context.Context, delay time.Duration) bool {
	var due <-chan time.Time
	if delay > 0 {
		due = time.After(wait.Jitter(delay, 0.2))
	}
	select {
	case <-due:
	case <-r.reviewNow:
	case <-ctx.Done():
		return false
	}
	return true
}

// start starts the informers, and waits until their caches have synced.
func (r *scopeRunner) start(ctx context.Context) {
	for _, factory := range r.scope.factories {
		factory.StartWithContext(ctx)
	}
	if cache.WaitFor(ctx, "", r.scope.SyncedCheckers()...) {
		r.updateFacts(ctx, func(f *facts) { f.synced = true })
	}
}

// requestReview makes run review the rights: a request was refused.
func (r *scopeRunner) requestReview() {
	select {
	case r.reviewNow <- struct{}{}:
	default: // a review is already requested
	}
}

// answered handles the answer to a list or watch request of an informer.
func (r *scopeRunner) answered(ctx context.Context, resource string, err error) {
	if apierrors.IsForbidden(err) {
		// The review after this reports all lacking rights at once.
		r.mu.Lock()
		r.facts.refused[resource] = true
		r.mu.Unlock()
		r.requestReview()
		return
	}
	r.updateFacts(ctx, func(f *facts) {
		if err == nil {
			delete(f.refused, resource)
		}
		if resource == string(ManagersResource) && (err == nil || apierrors.IsNotFound(err)) {
			f.noCRD = err != nil
		}
	})
}

// updateFacts changes the facts, and logs the state if it has changed.
func (r *scopeRunner) updateFacts(ctx context.Context, change func(*facts)) {
	r.mu.Lock()
	change(&r.facts)
	state := r.facts.state()
	isNew := state != r.state
	if isNew {
		r.state = state
		r.logState(klog.LoggerWithValues(klog.FromContext(ctx), "scope", state.Name(), "state", state.Phase))
	}
	r.mu.Unlock()
	if isNew {
		r.changed()
	}
}

func (r *scopeRunner) logState(logger klog.Logger) {
	hadProblem := r.hadProblem
	r.hadProblem = r.state.Why != ""
	switch {
	case r.isPart:
		logger.V(4).Info("Part of a scope", "why", r.state.Why)
	case r.state.Phase == ScopeStarting && r.facts.err != nil:
		logger.Error(r.facts.err, "Not served yet", "why", r.state.Why)
	case r.state.Phase == ScopeStarting:
		logger.V(2).Info("Not served yet", "why", r.state.Why)
	case r.state.Phase != ScopeServed:
		logger.Error(errors.New(r.state.Why), "Not served; taken up as soon as it can be")
	case r.state.Why != "":
		logger.Error(errors.New(r.state.Why), "Served, but not all of it works")
	case hadProblem:
		logger.Info("Served")
	default:
		logger.V(2).Info("Served")
	}
}
