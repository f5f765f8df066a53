package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// inBursts stalls watches most of the time, until stop is called: the controller sees its own writes only after a while. Otherwise the
// cache would be faster than any retry, and hide the mistakes of a retry.
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

// ambiguousCreate drops the answers to successful creates. The controller must not create a pod too many.
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
	a.await("all pods", func() (string, bool) {
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

// serverErrors fails or delays many writes.
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

// blackHole first makes the open connections dead for ever, like a firewall that was restarted, and then all connections, old and new,
// for a while.
func blackHole(a *arena) {
	link, err := faults.StartLink(a.kubeconfig) // in front of the proxy, which would answer pings itself
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
	a.await("some pods", func() (string, bool) { n := len(a.pods()); return fmt.Sprint(n), n > 3 })
	if link.Sever() == 0 {
		a.must(errors.New("there is no connection to cut"))
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
		a.violate(faults.Violation{Invariant: "I3", Object: "web", What: fmt.Sprintf("the controller has not noticed within %v that its connection is dead", noticed)})
	}
	lab.Pause(a.ctx, time.Duration(a.random.IntN(5000))*time.Millisecond)
	revive()
	a.settle()
	a.judge()
}
