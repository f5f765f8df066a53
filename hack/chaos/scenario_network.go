package main

import (
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/faults"
)

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
			time.Sleep(100 * time.Millisecond)
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
	time.Sleep(10 * time.Second)
	heal()
	calm()
	if n := a.proxy.Count("lost"); n < owners {
		a.must(fmt.Errorf("only %d answers were lost", n))
	}
	a.settle()
	a.judge()
}
