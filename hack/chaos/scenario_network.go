package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
)

// networkScenarios are what happens between a controller and the API server.
func networkScenarios() []scenario {
	return []scenario{
		{name: "stale-cache", about: "the watch of pods stands still for longer than any patience of the controller, during churn", do: staleCache},
		{name: "unobserved-change", about: "replicas, image and labels change there and back while watches stand still, and are then lost", do: unobservedChange},
		{name: "missed-delete", about: "pods are deleted while the watch is stalled or refused; they are to be replaced 5 s after it is back", do: missedDelete},
		{name: "watch-gone", about: "watches are cut, and watches and lists answered 410 for a while, during churn", do: watchGone},
		{name: "server-errors", about: "30 % of the writes are answered 429, 500, 503 or 504 or delayed by seconds, during churn", short: true, do: serverErrors},
		{name: "conflict-storm", about: "others write to the object 50 times a second while it is scaled", do: conflictStorm},
		{name: "black-hole", about: "connections go dead without breaking in the middle of work; it is to go on within 60 s", do: blackHole},
		{name: "uid-reuse", about: "the object is deleted, forced, and made again under its name while watches stand still or the controller is away",
			short: true, do: uidReuse},
		{name: "half-seen", about: "the watch of the owner, then that of pods stands still amid a scale-up, with some of its pods seen; names become free meanwhile",
			runs: 2, short: true, do: halfSeen},
		{name: "foreign-name", about: "pods of others have the names or labels that the controller would use", do: foreignName},
		{name: "storm", about: "lost answers, errors, delays, stalls, cuts, 410 and kills come and go at random during churn", runs: 3, short: true, do: storm},
	}
}

// inBursts makes watches stand still most of the time, until what it returns is called: what the controller has written
// it sees only after a while. Without that the cache would be faster than any retry, and hide what a retry does wrong.
func (a *arena) inBursts(match func(faults.Request) bool) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			stall := a.proxy.Stall(match)
			select {
			case <-time.After(2 * time.Second):
				stall.Resume()
			case <-over:
				stall.Resume()
				return
			}
			lab.Pause(a.ctx, 100*time.Millisecond)
		}
	}()
	return func() { close(over); <-ended }
}

// ambiguousCreate loses the answers to creates that went through. Not one pod too many may come of it.
func ambiguousCreate(a *arena) {
	owners := 30
	if a.short {
		owners = 10
	}
	a.start()
	calm := a.inBursts(a.own("watch", "pods"))
	heal := a.proxy.Inject(faults.Rule{Name: "lost", Match: a.own("create", "pods"), Rate: 0.3, Faults: []faults.Fault{{DropAnswer: true}}})
	for i := range owners {
		a.create(fmt.Sprintf("web-%d", i), 5, ownerOptions{})
	}
	a.await("all pods, in spite of that", 2*time.Minute, func() (string, bool) {
		n := len(a.pods())
		return fmt.Sprint(n), n >= 5*owners
	})
	heal()
	calm()
	if n := a.proxy.Count("lost"); n < owners/2 {
		a.must(fmt.Errorf("only %d answers were lost", n))
	}
	a.settle()
	a.judge()
}

// serverErrors fails or delays many of the writes.
func serverErrors(a *arena) {
	length := 40 * time.Second
	if a.short {
		length = 10 * time.Second
	}
	a.start()
	rule := faults.Rule{Name: "errors", Match: a.isWrite, Rate: 0.3, Faults: []faults.Fault{
		{Status: 429, RetryAfter: time.Second}, {Status: 500}, {Status: 503}, {Status: 504}, {Status: 503, RetryAfter: 2 * time.Second},
		{Delay: time.Second}, {Delay: 3 * time.Second},
	}}
	a.bouts(length, rule.Name, 3, func(ctx context.Context) {
		heal := a.proxy.Inject(rule)
		<-ctx.Done()
		heal()
	})
	a.judge()
}

// noticed is how soon a controller has to find out that a connection is dead. client-go pings after 30 s of silence, and
// waits 15 s for an answer.
const noticed = time.Minute

// blackHole first makes the open connections dead for ever, as a firewall does that was restarted, and then all of them,
// also new ones, for a while.
func blackHole(a *arena) {
	link, err := faults.StartLink(a.kubeconfig) // before the proxy, which would answer pings itself
	a.must(err)
	defer link.Close()
	a.kubeconfig = filepath.Join(a.cluster.Folder, a.namespace+"-link.kubeconfig")
	a.must(link.WriteKubeconfig(a.kubeconfig))
	a.blind = noticed
	a.start()
	a.create("web", 3, ownerOptions{})
	a.awaitCalm()

	slow := a.proxy.Inject(faults.Rule{Name: "slow", Match: a.own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 200 * time.Millisecond}}})
	a.scale("web", 12)
	a.await("some pods", time.Minute, func() (string, bool) { n := len(a.pods()); return fmt.Sprint(n), n > 3 })
	if link.Sever() == 0 {
		a.must(errors.New("there is no connection that could die"))
	}
	a.logf("the connections are dead, at %d pods", len(a.pods()))
	began := time.Now()
	for _, problem := range a.awaitSettled(noticed) {
		problem.What = fmt.Sprintf("not done %v after its connections went dead, although new ones work: %s", noticed, problem.What)
		a.violate(problem)
	}
	a.logf("done %v after the connections went dead", time.Since(began).Round(time.Millisecond))
	slow()

	a.scale("web", 4+a.random.IntN(6))
	opened, began := link.Opened(), time.Now()
	revive := link.Die()
	a.logf("the link is dead")
	a.deletePod(a.pods()[0].Name)
	for link.Opened() == opened && time.Since(began) < noticed {
		lab.Pause(a.ctx, 100*time.Millisecond)
	}
	a.logf("a new connection is tried after %v", time.Since(began).Round(time.Millisecond))
	if link.Opened() == opened {
		a.violate(faults.Violation{Invariant: "I3", Object: "web", What: fmt.Sprintf("it has not noticed within %v that its connection is dead", noticed)})
	}
	lab.Pause(a.ctx, time.Duration(a.random.IntN(5000))*time.Millisecond)
	revive()
	a.settle()
	a.judge()
}
