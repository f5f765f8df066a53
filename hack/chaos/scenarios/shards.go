package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/shard"
)

// handoversPerRun is the minimum number of handovers in a full run. Three runs reach the goal of the campaign.
const handoversPerRun = 70

// nearestJump and farthestJump are the minimum and maximum clock error. The API server's certificates are valid within that range.
const nearestJump, farthestJump = time.Minute, 45 * time.Minute

// shardsUnderFaults kills, stops, cuts off and replaces replicas that share the work, and changes their clocks, during churn and with lost answers.
func shardsUnderFaults(a scene) {
	a.Blind = untilBack // a replica that was cut off waits before it reopens its watches
	c := newReplicaGroup(a)
	defer c.close()
	for range 3 {
		c.launch()
	}
	c.createCanaries()
	c.awaitBalance()
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	a.InParallel(func() { a.Churn(ctx) }, func() {
		defer cancel()
		if a.Short {
			c.shortSteps()
		} else {
			c.allSteps()
		}
	})
	c.calm.Store(true)
	a.Settle()
	a.Judge()
	c.judgeWrites()
	c.judgeGaps()
	c.logTimes()
}

// shortSteps injects one fault of each kind, several at the same time.
func (c *replicaGroup) shortSteps() {
	c.stopCleanly()
	c.killOne()
	c.awaitBalance() // each replica that is disturbed next must have work
	c.disturbThree()
}

// allSteps takes all steps in random order, until there were enough handovers.
func (c *replicaGroup) allSteps() {
	steps := []func(){c.stopCleanly, c.killOne, c.disturbThree, c.roll, c.growAndShrink, c.blackout, c.rob, c.killOne, c.disturbThree}
	for round := 0; c.Ctx.Err() == nil && (round == 0 || c.history.Handovers(c.Namespace+"-shard-") < handoversPerRun); round++ {
		c.Random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			step()
			c.awaitBalance()
		}
	}
}

// untilBack is the longest time that client-go waits before it reopens a watch. Its backoff grows with each cut of the watch.
const untilBack = time.Minute

// draws returns a source of random numbers for another goroutine, because a rand.Rand is not safe for concurrent use.
func (c *replicaGroup) draws() *rand.Rand {
	return rand.New(rand.NewPCG(c.Random.Uint64(), c.Random.Uint64()))
}

func (c *replicaGroup) pick() *replica { return c.replicas[c.Random.IntN(len(c.replicas))] }

func (c *replicaGroup) drop(gone *replica) {
	c.replicas = slices.DeleteFunc(c.replicas, func(r *replica) bool { return r == gone })
}

// killOne kills a replica, and starts another one once the others have taken over its shards.
func (c *replicaGroup) killOne() {
	c.calibrate()
	victim := c.pick()
	c.Must(victim.process.Kill())
	c.Run.Count(testenv.ControllerKills, 1)
	killed := time.Now()
	held := c.shardsOf(victim)
	victim.faults = append(victim.faults, faultTime{"killed", killed, killed.Add(leaseDuration)})
	c.Logf("killed %s, which held %v", victim.name, held)
	c.drop(victim)
	c.awaitWork("kill", killed, held, leaseDuration+takeoverAfterKill)
	c.launch()
}

// stopCleanly stops a replica, and starts another one once the others have taken over its shards.
func (c *replicaGroup) stopCleanly() {
	c.calibrate()
	victim := c.pick()
	held := c.shardsOf(victim)
	stopped := time.Now()
	c.Must(victim.process.Signal(syscall.SIGTERM))
	c.Logf("stopping %s, which holds %v", victim.name, held)
	c.drop(victim)
	c.awaitWork("clean stop", stopped, held, takeoverAfterStop)
	c.Must(victim.process.Stop())
	c.launch()
}

// roll replaces all replicas. Each new one starts either before or after the old one stops.
func (c *replicaGroup) roll() {
	for _, old := range slices.Clone(c.replicas) {
		if c.Random.IntN(2) == 0 {
			c.launch()
			c.awaitBalance()
			c.Must(old.process.Stop())
			c.drop(old)
		} else {
			c.Must(old.process.Stop())
			c.drop(old)
			c.launch()
		}
		c.Logf("replaced %s", old.name)
	}
}

// growAndShrink goes from three replicas to one, to five, to two and back.
func (c *replicaGroup) growAndShrink() {
	for _, count := range []int{1, 5, 2, 3} {
		for len(c.replicas) < count {
			c.launch()
		}
		for len(c.replicas) > count {
			gone := c.pick()
			c.Must(gone.process.Signal(syscall.SIGTERM)) // several at the same time
			c.drop(gone)
		}
		c.Logf("%d replicas", count)
		lab.Pause(c.Ctx, time.Duration(c.Random.IntN(2000))*time.Millisecond)
		c.awaitBalance()
	}
}

// disturbThree stops one replica and cuts off another one, both for longer than their Leases last. Meanwhile it changes the clock of a third one,
// and takes a shard by force.
func (c *replicaGroup) disturbThree() {
	order := c.Random.Perm(len(c.replicas))
	stopped, cutOff, mistaken := c.replicas[order[0]], c.replicas[order[1]], c.replicas[order[2]]
	first, second, third := c.draws(), c.draws(), c.draws()
	c.InParallel(
		func() { c.stopAndContinue(stopped, c.pastLease(first)) },
		func() { c.cutOff(cutOff, c.pastLease(second), second) },
		func() { c.setClock(mistaken, c.pastLease(third), third) },
		func() { lab.Pause(c.Ctx, time.Second); c.force() },
	)
}

// blackout cuts off all replicas at the same time, as an outage of the API server would.
func (c *replicaGroup) blackout() {
	var parts []func()
	for _, r := range c.replicas {
		random := c.draws()
		parts = append(parts, func() { c.cutOff(r, c.pastLease(random), random) })
	}
	c.InParallel(parts...)
}

// pastLease returns a time somewhat longer than the lease duration.
func (c *replicaGroup) pastLease(random *rand.Rand) time.Duration {
	more := 3000
	if c.Short {
		more = 1000
	}
	return leaseDuration + time.Duration(500+random.IntN(more))*time.Millisecond
}

// stopAndContinue stops the process of a replica for a while, in the middle of its work.
func (c *replicaGroup) stopAndContinue(r *replica, length time.Duration) {
	c.Must(r.process.Signal(syscall.SIGSTOP))
	r.faults = append(r.faults, faultTime{what: "stopped (SIGSTOP)", from: time.Now()})
	c.Run.Count(testenv.SplitBrains, 1)
	c.Logf("stopped %s for %v", r.name, length)
	lab.Pause(c.Ctx, length)
	c.poke() // work that now belongs to the replica's successor
	r.faults[len(r.faults)-1].to = time.Now()
	c.Must(r.process.Signal(syscall.SIGCONT))
	c.Logf("resumed %s", r.name)
}

// setClock makes the wall clock of a replica jump several times, forward and back, and then corrects it.
func (c *replicaGroup) setClock(r *replica, length time.Duration, random *rand.Rand) {
	const jumps = 4
	for range jumps {
		offset := nearestJump + time.Duration(random.Int64N(int64(farthestJump-nearestJump)))
		if random.IntN(2) == 0 {
			offset = -offset
		}
		offset = offset.Round(time.Second)
		c.history.ExpectOffset(offset)
		err := faults.SetClock(r.process.PID(), offset)
		if errors.Is(err, errors.ErrUnsupported) {
			c.Logf("the clock of one process cannot be set on this platform: this fault is left out")
			return
		}
		c.Must(err)
		r.faults = append(r.faults, faultTime{what: fmt.Sprintf("clock off by %v", offset), from: time.Now()})
		c.Logf("the clock of %s is off by %v", r.name, offset)
		lab.Pause(c.Ctx, length/jumps)
		c.poke()
		r.faults[len(r.faults)-1].to = time.Now()
	}
	c.Must(faults.SetClock(r.process.PID(), 0))
	c.Logf("the clock of %s is right again", r.name)
}

// cutOff lets nothing through between a replica and the API server for a while. Either connections break, or requests hang, or requests get through
// but their answers are lost.
func (c *replicaGroup) cutOff(r *replica, length time.Duration, random *rand.Rand) {
	healed := make(chan struct{})
	kinds := []struct {
		what  string
		fault faults.Fault
	}{
		{"cut off (connections break)", faults.Fault{Strike: func() {}}},
		{"cut off (requests hang)", faults.Fault{Strike: func() { <-healed }}},
		{"cut off (answers are lost)", faults.Fault{DropAnswer: true}},
	}
	kind := kinds[random.IntN(len(kinds))]
	everything := func(faults.Request) bool { return true }
	r.isCutOff.Store(true)
	heal := r.proxy.Inject(faults.Rule{Name: kind.what, Rate: 1, Faults: []faults.Fault{kind.fault}})
	stall := r.proxy.Stall(everything)
	r.faults = append(r.faults, faultTime{what: kind.what, from: time.Now()})
	c.Logf("%s is %s for %v", r.name, kind.what, length)
	lab.Pause(c.Ctx, length)
	c.poke()
	r.faults[len(r.faults)-1].to = time.Now()
	heal()
	close(healed)
	r.isCutOff.Store(false)
	if random.IntN(2) == 0 {
		stall.Cut()
	} else {
		stall.Resume()
	}
	c.Logf("%s is connected again", r.name)
}

// force overwrites the holder of a shard's Lease, either with an identity that does not exist or with another replica, which does not know about
// it.
func (c *replicaGroup) force() (lease string) {
	part := shard.Shard{Index: c.Random.IntN(shardCount), Count: shardCount}
	holder := "somebody-else"
	if c.Random.IntN(2) == 0 {
		holder = cmp.Or(c.pick().identity(), holder)
	}
	lease = fmt.Sprintf("%s-shard-%v", c.Namespace, part)
	c.Insist(func() error { return c.history.Force(c.Ctx, c.leases, lease, holder) })
	c.forced = append(c.forced, time.Now())
	c.Logf("gave shard %v to %s by force", part, holder)
	return lease
}

// rob takes a shard by force, and waits until a replica has taken it back. The Lease is not renewed, so it expires.
func (c *replicaGroup) rob() {
	c.calibrate()
	robbed := time.Now()
	lease := c.force()
	for !c.history.IsTakenSince(lease, robbed) {
		if limit := leaseDuration + takeoverAfterKill + c.longer(robbed, time.Now()); time.Since(robbed) > limit {
			c.Violate(faults.Violation{Invariant: "I3", Object: lease, What: fmt.Sprintf("no replica has taken %s within %v after it was taken by force", lease, limit)})
			return
		}
		if !lab.Pause(c.Ctx, 20*time.Millisecond) {
			return
		}
	}
	c.times["robbery"] = append(c.times["robbery"], time.Since(robbed))
}
