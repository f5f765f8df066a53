package main

import (
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// operation is something that takes several writes.
type operation struct {
	name string
	// options are those of the owner; before is how many pods it has before the operation, -1 if it does not exist.
	options ownerOptions
	before  int
	do      func(a *arena, name string)
	// after, if not nil, waits for the end and checks what settle does not. It runs in a goroutine, so it must not abort.
	after func(a *arena, name string)
}

func (op operation) lookAfter(a *arena, name string) {
	if op.after != nil {
		op.after(a, name)
	}
}

func operations(updates bool) []operation {
	inPlace := ownerOptions{spec: func(spec *v1.PodManagerSpec) {
		spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible}
	}}
	update := func(a *arena, name string) { a.update(name, "nginx:1.28") }
	all := []operation{
		{name: "create", before: -1, do: func(a *arena, name string) { a.create(name, 3, ownerOptions{}) }},
		{name: "up", before: 1, do: func(a *arena, name string) { a.scale(name, 3) }},
		{name: "down", before: 3, do: func(a *arena, name string) { a.scale(name, 1) }},
		{name: "delete", before: 2, do: func(a *arena, name string) { a.remove(name) }},
	}
	if updates {
		all = append(all,
			operation{name: "recreate", before: 2, do: update},
			operation{name: "inplace", before: 2, do: update, options: inPlace})
	}
	return all
}

// crashAtEveryWrite counts the writes of each operation, and then kills the controller at each write, before the server gets it and
// after it has answered. The result must be the same as without a kill: what the user has asked for.
func crashAtEveryWrite(a *arena) { a.sweepAll(operations(a.contender.updates())...) }

// sweepAll sweeps through operations, each in an arena of its own.
func (a *arena) sweepAll(operations ...operation) {
	var parts []func()
	for _, op := range operations {
		sweep := func() {
			b := a.branch(op.name)
			defer b.close()
			b.sweep(op)
		}
		if a.contender.updates() {
			parts = append(parts, sweep)
		} else {
			sweep() // only one ReplicaSet controller can run
		}
	}
	a.inParallel(parts...)
}

// sweep kills the controller at every write of one operation; in a short arena only at two writes, which the seed decides.
func (a *arena) sweep(op operation) {
	a.start()
	writes := a.undisturbed(op)
	a.logf("%s takes %d writes", op.name, writes)
	chosen := a.random.Perm(writes)
	if a.short {
		chosen = chosen[:min(2, writes)]
	}
	for _, n := range chosen {
		for _, afterwards := range []bool{false, true} {
			a.crashAt(op, n+1, afterwards)
		}
	}
	a.settle()
	a.judge()
}

// undisturbed does the operation and returns how many writes it took.
func (a *arena) undisturbed(op operation) int {
	a.prepare(op, "calm")
	writes, remove := a.countWrites()
	defer remove()
	op.do(a, "calm")
	op.lookAfter(a, "calm")
	a.settle()
	return writes()
}

// isWrite leaves out events: the controller sends them in the background, and does not depend on them.
func (a *arena) isWrite(r faults.Request) bool {
	return r.IsWrite() && r.Namespace == a.namespace && r.Resource != "events"
}

func (a *arena) prepare(op operation, name string) {
	if op.before >= 0 {
		a.create(name, op.before, op.options)
		a.awaitCalm()
	}
}

// awaitCalm waits until everything is as wanted, before the next fault.
func (a *arena) awaitCalm() {
	for _, problem := range a.awaitSettled(settleLimit) {
		a.violate(problem)
	}
}

// crashAt kills the controller at the nth write. If there are fewer writes this time, it kills nothing.
func (a *arena) crashAt(op operation, n int, afterwards bool) {
	name := fmt.Sprintf("%s-%d-%v", op.name, n, afterwards)
	a.prepare(op, name)
	seen, struck := 0, make(chan struct{})
	remove := a.proxy.Inject(faults.Rule{
		Name: "crash", Rate: 1,
		Match: func(r faults.Request) bool { // called under a lock
			if !a.isWrite(r) {
				return false
			}
			seen++
			return seen == n
		},
		Faults: []faults.Fault{{DropAnswer: afterwards, Strike: func() {
			_ = a.process.Kill()
			close(struck)
		}}},
	})
	op.do(a, name)
	calm := make(chan struct{})
	go func() {
		op.lookAfter(a, name)
		a.awaitSettled(settleLimit)
		close(calm)
	}()
	select {
	case <-struck:
		a.run.count(controllerKills)
		a.logf("killed the controller at write %d, afterwards: %v", n, afterwards)
		began := time.Now()
		a.start()
		<-calm
		a.run.converged(time.Since(began))
	case <-calm:
	}
	remove()
	a.awaitCalm()
	if _, left := a.wants()[name]; left {
		a.remove(name)
	}
}
