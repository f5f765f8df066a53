package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Shard is one of Count shards. The zero value means that there is no sharding: it has all PodManagers.
type Shard struct{ Index, Count int }

// Of returns the shard of a PodManager. It depends on namespace and name, not on the UID, so that a PodManager, the orphans that it adopts
// and the pods of a predecessor with the same name belong to the same shard and are in the same cache.
func Of(namespace, name string, count int) Shard {
	sum := sha256.Sum256([]byte(namespace + "/" + name))
	// Multiplying the top bits by count distributes as evenly as a remainder. If the number of shards doubles, each shard splits in two.
	index, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:8]), uint64(count))
	return Shard{Index: int(index), Count: count}
}

// All returns all shards.
func All(count int) []Shard {
	all := make([]Shard, count)
	for i := range all {
		all[i] = Shard{Index: i, Count: count}
	}
	return all
}

// Has reports whether a PodManager belongs to the shard.
func (s Shard) Has(key cache.ObjectName) bool {
	return s.Count == 0 || Of(key.Namespace, key.Name, s.Count) == s
}

// String returns the value of the shard label, such as 3-of-16. It includes the number of shards, so that shards of different counts are
// never mistaken for each other.
func (s Shard) String() string {
	return fmt.Sprintf("%d-of-%d", s.Index, s.Count)
}

// Selector selects the pods and revisions of the shard.
func (s Shard) Selector() string {
	if s.Count == 0 {
		return v1.LabelManager
	}
	return v1.LabelManager + "," + v1.LabelShard + "=" + s.String()
}

// UnshardedSelector selects pods and revisions that are in no shard: orphans to be adopted, objects from before sharding was turned on, and
// objects from another number of shards.
func UnshardedSelector(count int) string {
	var values []string
	for _, s := range All(count) {
		values = append(values, s.String())
	}
	return v1.LabelManager + "," + v1.LabelShard + " notin (" + strings.Join(values, ",") + ")"
}

// IsIn reports whether an object with these labels is in the shard.
func (s Shard) IsIn(labels map[string]string) bool {
	return labels[v1.LabelManager] != "" && (s.Count == 0 || labels[v1.LabelShard] == s.String())
}

// IsUnsharded reports whether UnshardedSelector selects an object with these labels.
func (s Shard) IsUnsharded(labels map[string]string) bool {
	isItsShard := func(other Shard) bool { return labels[v1.LabelShard] == other.String() }
	return labels[v1.LabelManager] != "" && s.Count > 0 && !slices.ContainsFunc(All(s.Count), isItsShard)
}
