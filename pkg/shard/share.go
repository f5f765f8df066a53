package shard

import (
	"math"
	"time"
)

// Lease is what a replica knows of the Lease of a shard.
type Lease struct {
	// Holder is the replica that holds the shard, or is about to; empty if the shard is free.
	Holder string
	// Version is the version of the holder, or of the last one.
	Version string
	// WantedBy is the replica that has asked the holder for the shard; empty if none has.
	WantedBy string
	// Free is how long the shard has been free. It is negative until the Lease runs out.
	Free time.Duration
}

// View is what a replica knows of all shards.
type View struct {
	Replica string
	// Version tells replicas of different versions of a Deployment apart; empty if that is unknown.
	Version string
	// Order is the order in which the replica looks at the shards. It differs between replicas, so that two rarely take the same shard.
	Order  []int
	Leases []Lease
}

// Step is what a replica does next.
type Step struct {
	Take, GiveUp []int
	// Ask is the shard to ask its holder for; -1 for none.
	Ask int
	// Wait is how long to wait before a shard that is free may be taken.
	Wait time.Duration
}

const (
	// spread is how long a replica that holds all shards but one would wait before it takes that one. The others wait in proportion.
	spread = 300 * time.Millisecond
	// reserved is for how long a free shard is left to other replicas that should rather have it.
	reserved = time.Second
)

// Next returns what to do. The replica that holds the fewest shards is the first to take one that is free. A replica that holds two fewer
// than another one asks it for one, and the other one gives that up.
//
// This is more even than rendezvous hashing, which would give some replicas twice as much as others, and moves less: a shard moves only
// when its holder goes, or to even out. While replicas of several versions hold shards, a Deployment is being rolled: shards move only when
// their holder goes, and to replicas of another version than its own, so that each moves once.
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

// wait is how long a shard has to be free before this replica takes it, if it holds a number of shards. The place breaks ties.
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

// ask returns a shard of the replica with the most shards if this one has at least two fewer; -1 otherwise. It asks for one shard at a time.
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
