package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/leasehistory"
	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/shard"
)

const (
	// takeoverAfterKill is how soon the shards of a killed replica must be served again after their Leases have expired. takeoverAfterStop is how
	// soon after a replica was told to stop.
	takeoverAfterKill = 5 * time.Second
	takeoverAfterStop = time.Second
	// noPause is how soon all other shards must react in the meantime.
	noPause = time.Second
	// takeoverPatience is how long to wait for a shard.
	takeoverPatience = 40 * time.Second
)

// canary returns the name of the PodManager that shows whether a shard is served. The churn leaves it alone.
func (c *replicaGroup) canary(index int) string {
	for n := 0; ; n++ {
		name := fmt.Sprint(testenv.CanaryPrefix, n)
		if shard.Of(c.Namespace, name, shardCount).Index == index {
			return name
		}
	}
}

func (c *replicaGroup) createCanaries() {
	for index := range shardCount {
		c.Create(c.canary(index), 1, testenv.OwnerOptions{})
	}
}

// poke scales the canaries of all shards at the same time, so that each shard has something to do.
func (c *replicaGroup) poke() {
	c.poking.Lock()
	defer c.poking.Unlock()
	var parts []func()
	for index := range shardCount {
		name := c.canary(index)
		parts = append(parts, func() { c.Scale(name, 3-c.Wants()[name].Replicas) }) // from 1 to 2, and back
	}
	c.InParallel(parts...)
}

// awaitCanaries waits until each canary has the pods that were last requested. If a poke reverted a scale that no replica had begun to carry out,
// only the status would have to be written, which may happen later.
func (c *replicaGroup) awaitCanaries() {
	began := time.Now()
	for time.Since(began) < takeoverPatience && lab.Pause(c.Ctx, 50*time.Millisecond) {
		counts := map[string]int{}
		for _, pod := range c.Pods() {
			counts[testenv.OwnerOf(&pod)]++
		}
		settled := 0
		for index := range shardCount {
			if name := c.canary(index); counts["PodManager "+name] == c.Wants()[name].Replicas {
				settled++
			}
		}
		if settled == shardCount {
			return
		}
	}
}

// reactions pokes all shards. For each shard it returns when its replica first created or deleted a pod in response, according to the audit log. A
// shard that no replica serves is missing.
func (c *replicaGroup) reactions() (asked time.Time, reacted map[int]time.Time) {
	reacted = map[int]time.Time{}
	asked = time.Now()
	c.poke()
	for len(reacted) < shardCount && time.Since(asked) < takeoverPatience+c.longer(asked, time.Now()) && lab.Pause(c.Ctx, 50*time.Millisecond) {
		c.Must(c.ledger.Read())
		for index := range shardCount {
			if at, found := c.ledger.FirstOfPods(c.canary(index), asked); found {
				reacted[index] = at
			}
		}
	}
	return asked, reacted
}

// calibrate measures how long shards need to react without a fault.
func (c *replicaGroup) calibrate() {
	c.awaitCanaries()
	asked, reacted := c.reactions()
	c.awaitCanaries()
	c.usual = 0
	for _, at := range reacted {
		c.usual = max(c.usual, at.Sub(asked))
	}
	c.times["no fault"] = append(c.times["no fault"], c.usual)
}

// awaitWork measures when the shards that have lost their replica are served again. That may take up to limit after since. The other shards must
// react as if nothing had happened.
func (c *replicaGroup) awaitWork(kind string, since time.Time, moved []int, limit time.Duration) {
	asked, reacted := c.reactions()
	if c.Ctx.Err() != nil {
		return
	}
	for index := range shardCount {
		at, found := reacted[index]
		if !found {
			c.Violate(faults.Violation{Invariant: "I3", Object: fmt.Sprintf("shard %d", index),
				What: fmt.Sprintf("%s: shard %d is not at work after %v; the Leases: %v", kind, index, time.Since(since).Round(time.Second), c.history.Holders(c.Namespace+"-"))})
			continue
		}
		what, took, most := kind, at.Sub(since), limit
		if !slices.Contains(moved, index) {
			what, took, most = kind+", other shards", at.Sub(asked), noPause
		}
		c.times[what] = append(c.times[what], took)
		if most += c.longer(since, at); took > most {
			c.Violate(faults.Violation{Invariant: "I3", Object: fmt.Sprintf("shard %d", index), What: fmt.Sprintf("%s: shard %d was at work after %v, not within %v; without a fault it reacted within %v",
				what, index, took.Round(time.Millisecond), most.Round(time.Millisecond), c.usual.Round(time.Millisecond))})
		}
	}
}

// calmBefore is how long no replica may have been disturbed for a handover to count as ordinary.
const calmBefore = 10 * time.Second

// judgeGaps checks that an ordinary handover takes no longer than one after a clean stop.
func (c *replicaGroup) judgeGaps() {
	for _, gap := range c.history.Gaps(c.Namespace + "-shard-") {
		if c.wasDisturbed(gap.From.Add(-calmBefore), gap.To) {
			continue
		}
		took, most := gap.To.Sub(gap.From), takeoverAfterStop+c.longer(gap.From, gap.To)
		c.times["release"] = append(c.times["release"], took)
		if took > most {
			c.Violate(faults.Violation{Invariant: "I3", Object: gap.Lease, What: fmt.Sprintf("%s was released at %s, and no replica acquired it for %v, although no replica was disturbed; %v are allowed",
				gap.Lease, leasehistory.Clock(gap.From), took.Round(time.Millisecond), most.Round(time.Millisecond))})
		}
	}
}

// longer returns how much longer something may take than on an idle machine. If the machine stood still, that includes another takeover.
func (c *replicaGroup) longer(from, to time.Time) time.Duration {
	more := testenv.Slack * max(c.usual, c.Run.Latency.Slowest(from, to))
	if c.stoodStill(from, to) {
		more += leaseDuration + takeoverAfterKill
	}
	return more
}

// stoodStill reports whether the machine needed more time for a write than a request for a Lease may take. In that case replicas give up their
// shards, as when they are cut off.
func (c *replicaGroup) stoodStill(from, to time.Time) bool {
	return c.Run.Latency.Slowest(from, to) > renewDeadline/2
}

// wasDisturbed reports whether a replica or a Lease was disturbed within a period, or the machine stood still.
func (c *replicaGroup) wasDisturbed(from, to time.Time) bool {
	if c.stoodStill(from, to) {
		return true
	}
	for _, forced := range c.forced {
		if forced.After(from) && forced.Before(to) {
			return true
		}
	}
	for _, r := range c.all {
		for _, fault := range r.faults {
			if fault.from.Before(to) && fault.to.After(from) {
				return true
			}
		}
	}
	return false
}

// logTimes logs how long takeovers took.
func (c *replicaGroup) logTimes() {
	for kind, times := range c.times {
		slices.Sort(times)
		c.Logf("at work after a %s: %d shards, median %v, max %v", kind, len(times), times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
	}
}
