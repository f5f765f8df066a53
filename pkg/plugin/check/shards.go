package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/mycompany/podmanager/pkg/shard"
)

// judgeShards checks how the shards are distributed over the replicas, which shards have no holder, and which replica handles the PodManager.
func judgeShards(f Facts) Finding {
	finding := Finding{Check: "Shards", Result: OK}
	if f.ShardsError != nil {
		finding.Result, finding.Says = Unknown, "the Leases in namespace "+f.Namespace+" cannot be read: "+f.ShardsError.Error()
		return finding
	}
	count := f.ShardCount()
	held, holders := map[string]int{}, map[string]string{}
	for _, lease := range f.ShardLeases {
		if part, isShard := strings.CutPrefix(lease.Name, f.Lease.Name+"-shard-"); isShard {
			holders[part] = holderOf(lease, f.Now)
		}
	}
	var unheld []string
	for _, part := range shard.All(count) {
		if holder := holders[part.String()]; holder != "" {
			held[holder]++
		} else {
			unheld = append(unheld, part.String())
		}
	}
	finding.Says = fmt.Sprintf("%s on %s", counted(count-len(unheld), "shard"), division(held))
	if len(held) == 0 {
		finding.Result, finding.Says = Warning, fmt.Sprintf("no replica holds any of the %d shards", count)
		finding.Advice = "kubectl get leases -n " + f.Namespace
	} else if len(unheld) > 0 {
		finding.Result, finding.Says = Warning, fmt.Sprintf("no replica holds %s; %s", strings.Join(unheld, ", "), finding.Says)
		finding.Advice = "kubectl get leases -n " + f.Namespace
	}
	if f.Manager != nil {
		part := shard.Of(f.Manager.Namespace, f.Manager.Name, count).String()
		if holder := holders[part]; holder != "" {
			finding.Says += fmt.Sprintf("; %s is in %s, on %s", f.Manager.Name, part, holder)
		} else {
			finding.Result, finding.Says = Failure, fmt.Sprintf("no replica works on %s: %s", f.Manager.Name, finding.Says)
		}
	}
	return finding
}

// division describes how many shards each replica holds, such as "3 replicas: 5, 5, 6".
func division(held map[string]int) string {
	var numbers []string
	for _, number := range slices.Sorted(maps.Values(held)) {
		numbers = append(numbers, fmt.Sprint(number))
	}
	return fmt.Sprintf("%s: %s", counted(len(held), "replica"), strings.Join(numbers, ", "))
}

// counted formats a number of things: 1 shard, 2 shards.
func counted(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}

// holderOf returns the holder of a Lease. It is empty if the Lease has no holder or has expired.
func holderOf(lease coordinationv1.Lease, now time.Time) string {
	spec := lease.Spec
	if spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return ""
	}
	if now.Sub(spec.RenewTime.Time) > time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		return ""
	}
	return *spec.HolderIdentity
}
