package scenarios

import (
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// operation is something that takes several writes.
type operation struct {
	name string
	// options are those of the owner; before is how many pods it has before the operation, -1 if it does not exist.
	options arena.OwnerOptions
	before  int
	do      func(a scene, name string)
	// after, if not nil, waits for the end and checks what Settle does not. It runs in a goroutine, so it must not abort.
	after func(a scene, name string)
}

func (op operation) lookAfter(a scene, name string) {
	if op.after != nil {
		op.after(a, name)
	}
}

func operations(updates bool) []operation {
	inPlace := arena.OwnerOptions{Spec: func(spec *v1.PodManagerSpec) {
		spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible}
	}}
	update := func(a scene, name string) { a.Update(name, "nginx:1.28") }
	all := []operation{
		{name: "create", before: -1, do: func(a scene, name string) { a.Create(name, 3, arena.OwnerOptions{}) }},
		{name: "up", before: 1, do: func(a scene, name string) { a.Scale(name, 3) }},
		{name: "down", before: 3, do: func(a scene, name string) { a.Scale(name, 1) }},
		{name: "delete", before: 2, do: func(a scene, name string) { a.Remove(name) }},
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
func crashAtEveryWrite(a scene) { a.sweepAll(operations(a.Contender.Updates())...) }

// sweepAll sweeps through operations, each in an arena of its own.
func (a scene) sweepAll(operations ...operation) {
	var parts []func()
	for _, op := range operations {
		sweep := func() {
			b := a.branch(op.name)
			defer b.Close()
			b.sweep(op)
		}
		if a.Contender.Updates() {
			parts = append(parts, sweep)
		} else {
			sweep() // only one ReplicaSet controller can run
		}
	}
	a.InParallel(parts...)
}

// sweep kills the controller at every write of one operation; in a short arena only at two writes, which the seed decides.
func (a scene) sweep(op operation) {
	a.Start()
	writes := a.undisturbed(op)
	a.Logf("%s takes %d writes", op.name, writes)
	chosen := a.Random.Perm(writes)
	if a.Short {
		chosen = chosen[:min(2, writes)]
	}
	for _, n := range chosen {
		for _, afterwards := range []bool{false, true} {
			a.crashAt(op, n+1, afterwards)
		}
	}
	a.Settle()
	a.Judge()
}

// undisturbed does the operation and returns how many writes it took.
func (a scene) undisturbed(op operation) int {
	a.prepare(op, "calm")
	writes, remove := a.countWrites()
	defer remove()
	op.do(a, "calm")
	op.lookAfter(a, "calm")
	a.Settle()
	return writes()
}

// isWrite leaves out events: the controller sends them in the background, and does not depend on them.
func (a scene) isWrite(r faults.Request) bool {
	return r.IsWrite() && r.Namespace == a.Namespace && r.Resource != "events"
}

func (a scene) prepare(op operation, name string) {
	if op.before >= 0 {
		a.Create(name, op.before, op.options)
		a.awaitCalm()
	}
}

// awaitCalm waits until everything is as wanted, before the next fault.
func (a scene) awaitCalm() {
	for _, problem := range a.AwaitSettled(arena.SettleLimit) {
		a.Violate(problem)
	}
}

// crashAt kills the controller at the nth write. If there are fewer writes this time, it kills nothing.
func (a scene) crashAt(op operation, n int, afterwards bool) {
	name := fmt.Sprintf("%s-%d-%v", op.name, n, afterwards)
	a.prepare(op, name)
	seen, struck := 0, make(chan struct{})
	remove := a.Proxy.Inject(faults.Rule{
		Name: "crash", Rate: 1,
		Match: func(r faults.Request) bool { // called under a lock
			if !a.isWrite(r) {
				return false
			}
			seen++
			return seen == n
		},
		Faults: []faults.Fault{{DropAnswer: afterwards, Strike: func() {
			_ = a.Process.Kill()
			close(struck)
		}}},
	})
	op.do(a, name)
	calm := make(chan struct{})
	go func() {
		op.lookAfter(a, name)
		a.AwaitSettled(arena.SettleLimit)
		close(calm)
	}()
	select {
	case <-struck:
		a.Run.Count(arena.ControllerKills, 1)
		a.Logf("killed the controller at write %d, afterwards: %v", n, afterwards)
		began := time.Now()
		a.Start()
		<-calm
		a.Run.Converged(time.Since(began))
	case <-calm:
	}
	remove()
	a.awaitCalm()
	if _, left := a.Wants()[name]; left {
		a.Remove(name)
	}
}
