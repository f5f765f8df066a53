package scenarios

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// conflictStorm lets others write to the object all the time. Each scaling must be carried out nevertheless.
func conflictStorm(a scene) {
	const writers, rate = 10, 50
	enough := int32(500)
	if a.Short {
		enough = 100
	}
	a.Start()
	a.Create("web", 3, arena.OwnerOptions{})
	a.awaitCalm()
	ctx, stop := context.WithCancel(a.Ctx)
	defer stop()
	var writes atomic.Int32
	parts := []func(){func() {
		defer stop()
		for began := time.Now(); writes.Load() < enough && time.Since(began) < 2*time.Minute; {
			a.scaleInStorm(a.Random.IntN(10))
		}
	}}
	for i := range writers {
		parts = append(parts, func() {
			for n := 0; lab.Pause(ctx, writers*time.Second/rate); n++ {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"storm-%d":"%d"}}}`, i, n)
				if a.Contender.Patch(ctx, a.Namespace, "web", patch) == nil { // the writers conflict with each other, too
					writes.Add(1)
				}
			}
		})
	}
	began := time.Now()
	a.InParallel(parts...)
	a.Logf("%d writes of others, %.0f/s", writes.Load(), float64(writes.Load())/time.Since(began).Seconds())
	if writes.Load() < enough/2 {
		a.Must(fmt.Errorf("%d writes in %v are no storm", writes.Load(), time.Since(began)))
	}
	a.Settle()
	a.Judge()
}

func (a scene) scaleInStorm(replicas int) {
	const limit = 30 * time.Second // a busy machine takes seconds for one request
	a.Scale("web", replicas)
	began := time.Now()
	for _, problem := range a.AwaitSettled(limit) {
		problem.What = fmt.Sprintf("not done %v after it was scaled to %d, amid the writes of others: %s", limit, replicas, problem.What)
		a.Violate(problem)
	}
	a.Logf("scaled to %d after %v", replicas, time.Since(began).Round(time.Millisecond))
}

// draws is a source of random numbers for another goroutine: a rand.Rand serves one goroutine only.
func (a scene) draws() *rand.Rand {
	return rand.New(rand.NewPCG(a.Random.Uint64(), a.Random.Uint64()))
}

// untilBack is the longest time that client-go waits before it opens a watch again. It waits the longer, the more often the watch was cut.
const untilBack = time.Minute

// bouts lets users churn amid faults, again and again, and waits after each bout, without faults, until everything is as wanted: the next
// change often repairs a mistake, which shows only if there is no next change. It goes on until the rule has hit often enough, however slow
// the machine is, and ends with Settle, or with a bout that does not settle.
func (a scene) bouts(length time.Duration, rule string, enough int, meanwhile func(ctx context.Context)) {
	for end := time.Now().Add(length); time.Now().Before(end) || a.Proxy.Count(rule) < enough && a.Ctx.Err() == nil; {
		a.churnFor(time.Duration(1000+a.Random.IntN(6000))*time.Millisecond, meanwhile)
		began := time.Now()
		if slow := a.AwaitSettled(5 * time.Second); len(slow) > 0 {
			a.Logf("not settled after 5 s: %v", slow)
			stuck := a.AwaitSettled(arena.SettleLimit)
			for _, problem := range stuck {
				a.Violate(problem)
			}
			if len(stuck) > 0 {
				return
			}
		}
		a.Run.Converged(time.Since(began))
		a.Logf("the bout is over, settled after %v", time.Since(began).Round(time.Millisecond))
	}
	a.Settle()
}

// watchGone answers lists and watches with 410 for a while, again and again, and cuts watches.
func watchGone(a scene) {
	length := 40 * time.Second
	if a.Short {
		length = 15 * time.Second
	}
	a.Blind = untilBack
	a.Start()
	random := a.draws()
	resources := []string{a.Contender.Resource(), "pods", "pods", "controllerrevisions"}
	a.bouts(length, "gone", 3, func(ctx context.Context) {
		resource := resources[random.IntN(len(resources))]
		watches, lists := a.Own("watch", resource), a.Own("list", resource)
		heal := a.Proxy.Inject(faults.Rule{Name: "gone", Rate: random.Float64(), Faults: []faults.Fault{{Status: 410}},
			Match: func(r faults.Request) bool { return watches(r) || lists(r) }})
		a.expireNext(watches) // even if the next watch comes when the faults are over
		a.Proxy.CutWatches(watches)
		lab.Pause(ctx, time.Duration(100+random.IntN(1400))*time.Millisecond)
		heal()
		lab.Pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
	})
	a.Judge()
}

// storm lets all kinds of faults come and go during churn, up to four at the same time.
func storm(a scene) {
	length := time.Minute
	if a.Short {
		length = 12 * time.Second
	}
	a.Blind = untilBack
	a.Start()
	random := a.draws()
	a.bouts(length, "", 0, func(ctx context.Context) {
		var ends []func()
		for range 1 + random.IntN(4) {
			ends = append(ends, a.fault(random))
		}
		lab.Pause(ctx, time.Duration(200+random.IntN(3000))*time.Millisecond)
		killed := random.IntN(4) == 0
		if killed {
			a.Kill()
		}
		for _, end := range ends {
			end()
		}
		if killed {
			a.Start()
		}
		if random.IntN(2) == 0 {
			lab.Pause(ctx, time.Duration(random.IntN(1000))*time.Millisecond)
		}
	})
	a.Judge()
}

// fault starts a random fault, and returns the function that ends it.
func (a scene) fault(random *rand.Rand) (end func()) {
	resource := []string{a.Contender.Resource(), "pods", "pods", "controllerrevisions"}[random.IntN(4)]
	watches := a.Own("watch", resource)
	reads := func(r faults.Request) bool {
		return r.Resource == resource && !r.IsWrite() && r.Verb != "watch" && a.Own(r.Verb, resource)(r)
	}
	rule := faults.Rule{Match: a.isWrite, Rate: 0.2 + 0.6*random.Float64()}
	switch random.IntN(8) {
	case 0:
		rule.Name, rule.Faults = "lost", []faults.Fault{{DropAnswer: true}}
	case 1:
		rule.Name, rule.Faults = "errors", []faults.Fault{{Status: 429, RetryAfter: time.Second}, {Status: 500}, {Status: 503}, {Status: 504}}
	case 2:
		rule.Name, rule.Faults = "slow", []faults.Fault{{Delay: 100 * time.Millisecond}, {Delay: time.Second}, {Delay: 2 * time.Second, DropAnswer: true}}
	case 3:
		rule.Name, rule.Match, rule.Faults = "reads", reads, []faults.Fault{{Status: 500}, {Status: 503}, {Delay: time.Second}, {DropAnswer: true}}
	case 4:
		rule.Name, rule.Match, rule.Faults = "refused", watches, []faults.Fault{{Status: 410}, {Status: 500}, {DropAnswer: true}}
		a.Proxy.CutWatches(watches)
	case 5:
		a.Proxy.CutWatches(watches)
		return func() {}
	case 6:
		return a.Proxy.Stall(watches).Cut
	default:
		return a.Proxy.Stall(watches).Resume
	}
	a.Logf("%s, at %.0f %%", rule.Name, 100*rule.Rate)
	return a.Proxy.Inject(rule)
}
