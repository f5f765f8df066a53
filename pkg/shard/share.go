package shard

import (
	"math"
	"time"
)

// Lease is what a replica knows about the Lease of a shard.
type Lease struct {
	// Holder is the replica that holds the shard or is acquiring it; empty if the shard is free.
	Holder string
	// Version is the version of the current holder, or of the last one.
	Version string
	// WantedBy is the replica that has asked the holder for the shard; empty if none has.
	WantedBy string
	// Free is how long the shard has been free. It is negative until the Lease expires.
	Free time.Duration
}

// View is what a replica knows about all shards.
type View struct {
	Replica string
	// Version tells replicas from different revisions of a Deployment apart; empty if unknown.
	Version string
	// Order is the order in which the replica considers the shards. It differs between replicas, so that two rarely take the same shard.
	Order  []int
	Leases []Lease
}

// Step is what a replica does next.
type Step struct {
	Take, GiveUp []int
	// Ask is the shard to ask its holder for; -1 if there is none.
	Ask int
	// Wait is the time until the next shard may be taken.
	Wait time.Duration
}

const (
	// spread is how long a replica that holds all shards but one would wait before it takes the last one. Other replicas wait proportionally.
	spread = 300 * time.Millisecond
	// reserved is how long a replica leaves a free shard to replicas that have a better claim to it.
	reserved = time.Second
)

// Next returns what to do. The replica that holds the fewest shards is the first to take a free one. A replica that holds at least two fewer
// than another asks it for one, and the other replica gives it up.
//
// This is more even than rendezvous hashing, which would give some replicas twice as many shards as others. It also moves fewer shards: a shard moves
// only when its holder leaves, or to restore the balance. If replicas of several versions hold shards, a rollout of the Deployment is in progress.
// Then shards move only when their holder leaves, and replicas of another version take them first, so that each shard moves only once.
func (v View) Next() Step {
	step, load, isRolling := Step{Ask: -1, Wait: math.MaxInt64}, map[string]int{}, false
	for _, lease := range v.Leases {
		load[lease.Holder]++
		isRolling = isRolling || lease.Holder != "" && lease.Version != v.Version
	}
	isComplete := load[""] == 0
	for place, i := range v.Order {
		lease := v.Leases[i]
		wait := v.wait(lease, load[v.Replica], place, isRolling) - lease.Free
		switch {
		case lease.Holder == "" && wait <= 0:
			step.Take = append(step.Take, i)
			load[v.Replica]++
		case lease.Holder == v.Replica && lease.WantedBy != "" && load[v.Replica]-load[lease.WantedBy] >= 2:
			step.GiveUp = append(step.GiveUp, i)
			load[v.Replica]--
			load[lease.WantedBy]++
		case lease.Holder != v.Replica && wait > 0:
			step.Wait = min(step.Wait, wait)
		}
	}
	if isComplete && !isRolling {
		step.Ask = v.ask(load)
	}
	return step
}

// wait returns how long a shard has to be free before this replica takes it. It grows with load, the number of shards that this replica
// holds. place breaks ties.
func (v View) wait(lease Lease, load, place int, isRolling bool) time.Duration {
	if lease.WantedBy == v.Replica {
		return 0
	}
	count := len(v.Leases)
	wait := spread * time.Duration(load*count+place) / time.Duration(count*count)
	if lease.WantedBy != "" || isRolling && lease.Version == v.Version {
		wait += reserved
	}
	return wait
}

// ask returns a shard of the replica with the most shards if this replica has at least two fewer, and -1 otherwise. A replica asks for one
// shard at a time.
func (v View) ask(load map[string]int) int {
	best, most := -1, load[v.Replica]+1
	for _, i := range v.Order {
		lease := v.Leases[i]
		switch {
		case lease.WantedBy == v.Replica && lease.Holder != v.Replica:
			return -1
		case lease.WantedBy == "" && load[lease.Holder] > most:
			best, most = i, load[lease.Holder]
		}
	}
	return best
}
