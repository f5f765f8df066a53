package census

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Tally is the number of objects in each state.
type Tally[S comparable] map[S]int

// count returns how many objects are in a state that matches.
func (t Tally[S]) count(is func(S) bool) int {
	sum := 0
	for state, number := range t {
		if is(state) {
			sum += number
		}
	}
	return sum
}

func (t Tally[S]) total() int { return t.count(func(S) bool { return true }) }

// Census counts the objects of one kind by namespace and state, as a watch reports them. It keeps nothing else of the objects. It is the store of a
// client-go reflector, which ensures that no event is missed.
//
// All contenders are timed by the same watch. It is a watch of whole objects, in the encoding that the controllers request: the API server encodes
// an event once for all clients that want the same encoding, while a watch of metadata alone would cost the API server more.
type Census[S comparable] struct {
	stateOf func(object runtime.Object) S

	mu       sync.Mutex
	states   map[cache.ObjectName]S
	tallies  map[string]Tally[S]
	expected map[*Expectation[S]]bool
	ranges   map[*countRange[S]]bool
	filled   chan struct{}
	once     sync.Once
}

// Expectation waits until the tally of the objects in some namespaces meets a condition.
type Expectation[S comparable] struct {
	census *Census[S]
	spaces []string
	holds  func(Tally[S]) bool
	// met receives the time at which the condition was first met.
	met chan time.Time
}

// countRange is the lowest and the highest value of a count of the objects in some namespaces.
type countRange[S comparable] struct {
	spaces      []string
	count       func(Tally[S]) int
	least, most int
}

func empty[S comparable](stateOf func(runtime.Object) S) *Census[S] {
	return &Census[S]{
		stateOf: stateOf, states: map[cache.ObjectName]S{}, tallies: map[string]Tally[S]{},
		expected: map[*Expectation[S]]bool{}, ranges: map[*countRange[S]]bool{}, filled: make(chan struct{}),
	}
}

// start begins to watch, and returns when it knows all existing objects.
func start[L runtime.Object, S comparable](ctx context.Context, source lister[L], client any, kind runtime.Object, stateOf func(runtime.Object) S) (*Census[S], error) {
	c := empty(stateOf)
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(listWatch(source), client), kind, c, cache.ReflectorOptions{})
	go reflector.RunWithContext(ctx)
	select {
	case <-c.filled:
		return c, nil
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("the watch of %T did not list the existing objects in time", kind)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lister is a typed client for one kind in all namespaces.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func listWatch[L runtime.Object](client lister[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// Expect begins to wait for a condition on the objects in namespaces, which may already be met.
func (c *Census[S]) Expect(holds func(Tally[S]) bool, spaces ...string) *Expectation[S] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &Expectation[S]{census: c, spaces: spaces, holds: holds, met: make(chan time.Time, 1)}
	c.expected[e] = true
	c.check(e)
	return e
}

// Await returns the time at which the condition was met.
func (e *Expectation[S]) Await(ctx context.Context, limit time.Duration, what string) (time.Time, error) {
	select {
	case at := <-e.met:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(limit):
		e.census.mu.Lock()
		defer e.census.mu.Unlock()
		delete(e.census.expected, e)
		return time.Time{}, fmt.Errorf("waited %v until %s; there are %v", limit, what, e.census.sum(e.spaces))
	}
}

// Follow records the lowest and the highest value of a count, from now until end is called.
func (c *Census[S]) Follow(count func(Tally[S]) int, spaces ...string) (end func() (least, most int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := count(c.sum(spaces))
	r := &countRange[S]{spaces: spaces, count: count, least: now, most: now}
	c.ranges[r] = true
	return func() (least, most int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ranges, r)
		return r.least, r.most
	}
}

// Names returns the names of the objects in a namespace.
func (c *Census[S]) Names(space string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for key := range c.states {
		if key.Namespace == space {
			names = append(names, key.Name)
		}
	}
	return names
}

// sum returns the combined tally of several namespaces. The caller holds the lock.
func (c *Census[S]) sum(spaces []string) Tally[S] {
	sum := Tally[S]{}
	for _, space := range spaces {
		for state, number := range c.tallies[space] {
			sum[state] += number
		}
	}
	return sum
}

// check notifies an expectation if it is met. The caller holds the lock.
func (c *Census[S]) check(e *Expectation[S]) {
	if e.holds(c.sum(e.spaces)) {
		e.met <- time.Now()
		delete(c.expected, e)
	}
}

// changed updates all ranges and checks all expectations. The caller holds the lock.
func (c *Census[S]) changed() {
	for r := range c.ranges {
		now := r.count(c.sum(r.spaces))
		r.least, r.most = min(r.least, now), max(r.most, now)
	}
	for e := range c.expected {
		c.check(e)
	}
}

// set records the state of an object, or removes it if state is nil. The caller holds the lock.
func (c *Census[S]) set(key cache.ObjectName, state *S) {
	if old, found := c.states[key]; found {
		if c.tallies[key.Namespace][old]--; c.tallies[key.Namespace][old] == 0 {
			delete(c.tallies[key.Namespace], old)
		}
		delete(c.states, key)
	}
	if state == nil {
		return
	}
	c.states[key] = *state
	if c.tallies[key.Namespace] == nil {
		c.tallies[key.Namespace] = Tally[S]{}
	}
	c.tallies[key.Namespace][*state]++
}

// Add records an object. The reflector calls it, and the methods below.
func (c *Census[S]) Add(object any) error {
	state := c.stateOf(object.(runtime.Object))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(cache.MetaObjectToName(object.(metav1.Object)), &state)
	c.changed()
	return nil
}

// Update does the same as Add.
func (c *Census[S]) Update(object any) error { return c.Add(object) }

// Delete removes an object.
func (c *Census[S]) Delete(object any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(cache.MetaObjectToName(object.(metav1.Object)), nil)
	c.changed()
	return nil
}

// Replace sets all existing objects. The reflector calls it at the beginning, and after it has missed events.
func (c *Census[S]) Replace(objects []any, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.states)
	clear(c.tallies)
	for _, object := range objects {
		state := c.stateOf(object.(runtime.Object))
		c.set(cache.MetaObjectToName(object.(metav1.Object)), &state)
	}
	c.once.Do(func() { close(c.filled) })
	c.changed()
	return nil
}

// Resync does nothing.
func (c *Census[S]) Resync() error { return nil }
