package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// Member is a replica that is alive.
type Member struct {
	Identity string
	// Version tells replicas of different versions of a Deployment apart; empty if that is unknown.
	Version string
	Since   time.Time
}

// View is what a replica knows of all replicas.
type View struct {
	Members []Member
	// Holders has, for each shard, who holds its Lease; empty if nobody does.
	Holders []string
}

// Assign returns, for each shard, who should hold it; empty if nobody is there. Whoever holds a shard keeps it, unless that leaves
// another replica with at least two shards fewer. Replicas with the same view come to the same result.
//
// This is more even than rendezvous hashing, which would give some replicas twice as much as others, and moves less: a shard moves only
// when its holder goes, or to even out. While replicas of an older version are there, a Deployment is being rolled: shards move only when
// their holder goes, and to replicas of the newest version, so that each moves once.
func (v View) Assign() []string {
	candidates, isRolling := v.candidates()
	assigned := slices.Clone(v.Holders)
	if len(candidates) == 0 {
		return assigned
	}
	load := map[string]int{}
	for _, holder := range v.Holders {
		load[holder]++
	}
	for i, holder := range v.Holders {
		if holder == "" {
			assigned[i] = leastLoaded(candidates, load, i)
			load[assigned[i]]++
		}
	}
	if !isRolling && !v.isLeaving() {
		v.evenOut(candidates, load, assigned)
	}
	return assigned
}

// isLeaving tells whether a shard is about to be free: its holder has left and drains, or is dead and its Lease runs out.
func (v View) isLeaving() bool {
	return slices.ContainsFunc(v.Holders, func(holder string) bool {
		isHolder := func(m Member) bool { return m.Identity == holder }
		return holder != "" && !slices.ContainsFunc(v.Members, isHolder)
	})
}

// candidates are the members of the newest version, and whether there are older ones.
func (v View) candidates() (identities []string, isRolling bool) {
	if len(v.Members) == 0 {
		return nil, false
	}
	newest := slices.MaxFunc(v.Members, func(a, b Member) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Identity, b.Identity))
	})
	for _, member := range v.Members {
		if member.Version == newest.Version {
			identities = append(identities, member.Identity)
		}
	}
	return identities, len(identities) < len(v.Members)
}

// evenOut moves shards from replicas with many to replicas with few, at most one to each replica at a time: the next moves when this one
// has a new holder.
func (v View) evenOut(candidates []string, load map[string]int, assigned []string) {
	var taken []string
	for {
		waiting := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return slices.Contains(taken, c) })
		if len(waiting) == 0 {
			return
		}
		taker := slices.MinFunc(waiting, func(a, b string) int { return cmp.Or(load[a]-load[b], cmp.Compare(a, b)) })
		giver := slices.MaxFunc(candidates, func(a, b string) int { return cmp.Or(load[a]-load[b], cmp.Compare(a, b)) })
		if load[giver]-load[taker] < 2 {
			return
		}
		best := -1
		for i, holder := range v.Holders {
			if holder == giver && assigned[i] == giver && (best < 0 || weight(taker, i) > weight(taker, best)) {
				best = i
			}
		}
		if best < 0 {
			return // the giver's shards are not its own yet
		}
		assigned[best] = taker
		load[giver]--
		load[taker]++
		taken = append(taken, taker)
	}
}

func leastLoaded(candidates []string, load map[string]int, index int) string {
	return slices.MinFunc(candidates, func(a, b string) int {
		return cmp.Or(load[a]-load[b], cmp.Compare(weight(b, index), weight(a, index)), cmp.Compare(a, b))
	})
}

// weight is a hash that orders replicas differently for each shard.
func weight(identity string, index int) uint64 {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(identity), uint32(index)))
	return binary.BigEndian.Uint64(sum[:8])
}
