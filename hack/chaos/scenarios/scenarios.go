package scenarios

import (
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// scene is a test environment with helpers that only scenarios need.
type scene struct{ *testenv.Env }

// in adapts a scenario to a test environment.
func in(play func(a scene)) func(*testenv.Env) {
	return func(a *testenv.Env) { play(scene{a}) }
}

// branch returns another test environment in the same run.
func (a scene) branch(part string) scene { return scene{a.Branch(part)} }

// All returns all scenarios, in the order of the table.
func All() []testenv.Scenario {
	return []testenv.Scenario{
		{Name: "split-brain", About: "leaders are stopped in the middle of work until their lease has expired, and continue while their successors work",
			Runs: 5, Short: true, Do: in(splitBrain)},
		{Name: "standby", About: "a standby sees 20 000 events about pods, then the leader is stopped; its memory does not grow, and it takes over at once",
			OursOnly: true, Do: in(standby)},
		{Name: "shards", About: "replicas that share the work are killed, stopped, cut off, replaced, robbed of shards, and their clocks set, during churn and with lost answers",
			Runs: 3, OursOnly: true, Limit: 10 * time.Minute, Do: in(shardsUnderFaults)},
		{Name: "api-server-killed", About: "the API server is killed in the middle of churn",
			Runs: 4, Short: true, Alone: true, Do: in(killAPIServer)},
		{Name: "etcd-restore", About: "etcd is killed and restored from a backup, so that versions go back and are used again",
			Alone: true, Do: in(etcdRestore)},
		{Name: "black-hole", About: "connections go dead without breaking in the middle of work; the controller must continue within 60 s", Do: in(blackHole)},
		{Name: "webhook", About: "the webhook that the API server asks about PodManagers is dead, hangs, answers garbage, or has an expired certificate",
			OursOnly: true, Do: in(webhookBreaks)},
		{Name: "conversion", About: "the webhook that converts between v1 and v1alpha1 is dead, hangs, answers garbage, or has an expired certificate",
			Alone: true, OursOnly: true, Limit: 10 * time.Minute, Do: in(conversionBreaks)},
		{Name: "nodes", About: "nodes are drained and lost, while users churn and the controller is killed; drains must end, and budgets hold",
			Short: true, OursOnly: true, Do: in(drainsAndLosses)},
		{Name: "collector-away", About: "an owner is deleted and another gets its name while no garbage collector runs",
			Alone: true, OursOnly: true, Do: in(collectorAway)},
		{Name: "every-field", About: "every field of the spec gets valid and invalid values; after each the first spec is restored",
			OursOnly: true, Do: in(everyField)},
	}
}

// isWrite reports whether a request is a write in the namespace of the test environment. Events do not count: the controller sends them in the
// background, and does not depend on them.
func (a scene) isWrite(r faults.Request) bool {
	return r.IsWrite() && r.Namespace == a.Namespace && r.Resource != "events"
}

// awaitCalm waits until the pods are as requested and the status says so. Scenarios call it before the next fault.
func (a scene) awaitCalm() {
	for _, problem := range a.AwaitSettled(testenv.SettleLimit) {
		a.Violate(problem)
	}
}

// expect polls until a condition holds. If it does not hold in time, expect records a violation, and the run continues.
func (a scene) expect(invariant, object, what string, limit time.Duration, holds func() (seen string, ok bool)) bool {
	for began := time.Now(); ; {
		seen, ok := holds()
		if ok {
			return true
		}
		if a.IsOver(began, limit) || !lab.Pause(a.Ctx, 100*time.Millisecond) {
			a.Violate(faults.Violation{Invariant: invariant, Object: object, What: fmt.Sprintf("%s: waited %v for %s; seen: %s", object, limit, what, seen)})
			return false
		}
	}
}
