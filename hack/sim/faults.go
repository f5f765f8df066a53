package sim

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/hack/sim/luck"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// weather holds the faults between the processes under test and the API server. Dice decide about each request and each watch.
type weather struct {
	ctx   context.Context
	seed  uint64
	story *story
	// trouble is called for each fault, with the time at which the fault ends.
	trouble func(until time.Time)

	mu sync.Mutex
	// counts has the number of requests of each kind. The fault of a request depends only on the earlier requests of its kind, so a course stays
	// the same if requests of different kinds arrive in another order.
	counts map[string]uint64
	// fault is the probability that a request fails, watch the probability that a watch fails. Both are 0 while it is calm.
	fault, watch float64
}

// line is the connection of one process to the API server. It can be cut and frozen.
type line struct {
	*weather
	name string
	// onRequest is called for each request, onAnswer when the process gets the answer.
	onRequest func(*apiserver.Request)
	onAnswer  func(l *line, r *apiserver.Request, status int)

	mu     sync.Mutex
	isDead bool
	thaw   chan struct{} // closed when the process is thawed; nil while it runs
	// streams are the watches of the process.
	streams []*apiserver.Stream
}

func (w *weather) diceFor(kind string) dice.Dice {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[kind]++
	of := w.seed ^ hashOf(kind)
	luck.Seed(of + w.counts[kind])
	return dice.Dice{Rand: rand.New(rand.NewPCG(of, w.counts[kind]))}
}

func (w *weather) rates() (fault, watch float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault, w.watch
}

// tell records a fault that starts now.
func (w *weather) tell(lasts time.Duration, format string, arguments ...any) {
	w.trouble(time.Now().Add(lasts))
	w.story.tell(format, arguments...)
}

// set changes the fault rates.
func (w *weather) set(fault, watch float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.watch = fault, watch
}

// pingTimeout is how long client-go takes to notice that a connection is dead.
const pingTimeout = 45 * time.Second

var errReset = errors.New("read: connection reset by peer")

// latency returns how long a request takes in one direction.
func latency(d dice.Dice) time.Duration {
	return 200*time.Microsecond + upTo(d, 4800*time.Microsecond)
}

// Before implements apiserver.Faults.
func (l *line) Before(ctx context.Context, r *apiserver.Request) error {
	if l.hasEnded() {
		return errReset // the remaining goroutines of a dead process send nothing
	}
	l.onRequest(r)
	d := l.diceFor("before " + r.String())
	if !pause(l.ctx, latency(d)) {
		return errReset
	}
	if err := l.passable(ctx); err != nil {
		return err
	}
	rate, _ := l.rates()
	if isEvent(r) || !d.Chance(rate) {
		return nil
	}
	switch d.IntN(6) {
	case 0:
		l.tell(0, "lost: %v", r)
		return errReset
	case 1:
		l.tell(0, "500: %v", r)
		return apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case 2:
		l.tell(0, "503: %v", r)
		return apierrors.NewServiceUnavailable("the server is starting")
	case 3:
		l.tell(0, "429: %v", r)
		return apierrors.NewTooManyRequests("too many requests, please try again later", 1+d.IntN(3))
	default:
		late := upTo(d, 2*time.Second)
		if d.Chance(0.2) {
			late *= 30
		}
		l.tell(late, "late by %v: %v", late, r)
		if !pause(l.ctx, late) {
			return errReset
		}
		return nil // in flight: the request arrives even if the client has given up or has died
	}
}

// After implements apiserver.Faults.
func (l *line) After(ctx context.Context, r *apiserver.Request, status int) error {
	d := l.diceFor("after " + r.String())
	if !pause(l.ctx, latency(d)) {
		return errReset
	}
	if err := l.passable(ctx); err != nil {
		return err
	}
	if rate, _ := l.rates(); r.Verb != "watch" && !isEvent(r) && d.Chance(rate) {
		l.tell(pingTimeout, "answer %d lost: %v", status, r)
		if d.Chance(0.3) {
			// No more packets arrive: the client waits until it gives up, or until its pings time out.
			select {
			case <-ctx.Done():
			case <-time.After(pingTimeout):
			}
		}
		return errReset
	}
	if ctx.Err() == nil { // otherwise the process no longer waits for the answer
		l.onAnswer(l, r, status)
	}
	return ctx.Err()
}

func (l *line) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isDead
}

// isEvent reports whether a request writes an event. Such requests never fail here, because client-go drops an event after a few failures.
func isEvent(r *apiserver.Request) bool { return r.Resource != nil && r.Resource.Name == "events" }

// passable waits while the process is frozen. It returns an error once the process is dead.
func (l *line) passable(ctx context.Context) error {
	for {
		l.mu.Lock()
		isDead, thaw := l.isDead, l.thaw
		l.mu.Unlock()
		switch {
		case isDead:
			return errReset
		case thaw == nil:
			return nil
		}
		select {
		case <-thaw:
		case <-ctx.Done():
			return ctx.Err()
		case <-l.ctx.Done():
			return errReset
		}
	}
}

// Watch implements apiserver.Faults.
func (l *line) Watch(stream *apiserver.Stream) {
	l.mu.Lock()
	l.streams = append(l.streams, stream)
	if l.thaw != nil {
		stream.Pause()
	}
	l.mu.Unlock()
	go l.follow(stream, l.diceFor("watch "+stream.Request().String()))
}

// follow injects a fault into a watch from time to time.
func (l *line) follow(stream *apiserver.Stream, d dice.Dice) {
	for pause(l.ctx, upTo(d, 2*time.Minute)) && !stream.HasEnded() {
		if _, rate := l.rates(); d.Chance(rate) {
			l.disturb(stream, d)
		}
	}
}

// disturb injects a fault into a watch.
func (l *line) disturb(stream *apiserver.Stream, d dice.Dice) {
	switch r := stream.Request(); d.IntN(5) {
	case 0:
		l.tell(0, "410: %v", r)
		stream.Expire()
	case 1:
		l.tell(0, "closed: %v", r)
		stream.Cut(io.EOF)
	case 2:
		l.tell(0, "cut: %v", r)
		stream.Cut(errReset)
	default:
		stalls := upTo(d, 90*time.Second)
		l.tell(stalls, "stalls for %v: %v", stalls, r)
		stream.Pause()
		if pause(l.ctx, stalls) {
			stream.Resume()
		}
	}
}

// kill ends the process. From now on nothing that it sends arrives, except requests that have already reached the API server.
func (l *line) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isDead = true
	if l.thaw != nil {
		close(l.thaw)
		l.thaw = nil
	}
	for _, stream := range l.streams {
		stream.Cut(errReset)
	}
}

// freeze holds back all traffic until the returned function is called. Time goes on for the process: it keeps deciding on what it knows.
func (l *line) freeze() (thaw func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isDead || l.thaw != nil {
		return func() {}
	}
	frozen := make(chan struct{})
	l.thaw = frozen
	for _, stream := range l.streams {
		stream.Pause()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.thaw != frozen {
			return // the process was killed in the meantime
		}
		close(frozen)
		l.thaw = nil
		for _, stream := range l.streams {
			stream.Resume()
		}
	}
}
