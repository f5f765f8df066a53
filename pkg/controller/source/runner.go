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

// reviewBackoff returns the delays between reviews while rights are lacking.
func reviewBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 25 * time.Second}
}

// scopeRunner starts the informers of one scope once the controller has the rights, and keeps the state of the scope.
type scopeRunner struct {
	scope   Scope
	review  func(ctx context.Context) (access.Verdict, error)
	changed func() // called after each change of the state
	// reviewNow makes run review the rights before the delay is over.
	reviewNow chan struct{}

	mu    sync.Mutex
	facts facts
	state ScopeState
	// hadProblem means that the last logged state had a problem, so that its end is logged, too.
	hadProblem bool
}

func newScopeRunner(scope Scope, changed func(), review func(context.Context) (access.Verdict, error)) *scopeRunner {
	start := facts{namespace: scope.Namespace, refused: map[string]bool{}}
	r := &scopeRunner{scope: scope, review: review, changed: changed, reviewNow: make(chan struct{}, 1), facts: start, state: start.state()}
	for _, source := range scope.sources {
		source.answered = func(ctx context.Context, err error) { r.answered(ctx, source.resource.Resource, err) }
	}
	return r
}

// State returns the state of the scope.
func (r *scopeRunner) State() ScopeState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// run starts the informers of the scope once the controller has the rights to list and watch. Until ctx is done, it reviews the rights repeatedly
// while some are lacking, and whenever a request was refused.
func (r *scopeRunner) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { r.checkSources(ctx) })
	started := false
	for backoff := reviewBackoff(); ; {
		verdict, err := r.review(ctx)
		if ctx.Err() != nil {
			return
		}
		r.updateFacts(ctx, func(f *facts) {
			f.err = err
			if err == nil {
				f.verdict = verdict
			}
		})
		if !started && err == nil && verdict.MayRead() {
			started = true
			running.Go(func() { r.scope.Run(ctx) })
			running.Go(func() {
				if cache.WaitFor(ctx, "", r.scope.SyncedCheckers()...) {
					r.updateFacts(ctx, func(f *facts) { f.synced = true })
				}
			})
		}
		due := time.After(backoff.Step())
		if err == nil && verdict.IsComplete() {
			due, backoff = nil, reviewBackoff() // a refused request starts the next review
		}
		select {
		case <-due:
		case <-r.reviewNow:
		case <-ctx.Done():
			return
		}
	}
}

// checkSources checks the sources while their informers send no requests. An open watch does not notice that the controller has lost its
// right to watch, and may not notice that the API server has gone back in time. The result also holds for the sources of the shards.
func (r *scopeRunner) checkSources(ctx context.Context) {
	for delay := rewindInterval; ; {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
		delay = rewindInterval
		for _, source := range r.scope.sources {
			switch err := source.check(ctx, 1); {
			case apierrors.IsForbidden(err):
				r.requestReview()
			case err != nil && !apierrors.IsNotFound(err):
				klog.FromContext(ctx).V(2).Info("Cannot find out whether the API server has gone back in time", "err", err)
				delay = rewindRetry
			}
		}
	}
}

// requestReview makes run review the rights, because a request was refused.
func (r *scopeRunner) requestReview() {
	select {
	case r.reviewNow <- struct{}{}:
	default: // a review is already requested
	}
}

// answered handles the response to a list or watch request of an informer.
func (r *scopeRunner) answered(ctx context.Context, resource string, err error) {
	if apierrors.IsForbidden(err) {
		// The next review reports all lacking rights at once.
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

// updateFacts changes the facts. If that changes the state, it logs the state.
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
	case r.state.Phase == ScopeStarting && r.facts.err != nil:
		logger.Error(r.facts.err, "Not served yet", "why", r.state.Why)
	case r.state.Phase == ScopeStarting:
		logger.V(2).Info("Not served yet", "why", r.state.Why)
	case r.state.Phase != ScopeServed:
		logger.Error(errors.New(r.state.Why), "Not served; will start as soon as the problem is solved")
	case r.state.Why != "":
		logger.Error(errors.New(r.state.Why), "Served, but some rights are missing")
	case hadProblem:
		logger.Info("Served")
	default:
		logger.V(2).Info("Served")
	}
}
