package shard

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// No shard is much larger than the others, however similar the names are.
func TestShardsAreEven(t *testing.T) {
	for _, count := range []int{2, 3, 16} {
		for _, format := range []string{"web-%d", "%d", "%04d-api", "team-a-service-%03d-canary"} {
			sizes := make([]int, count)
			for i := range 1000 {
				sizes[Of("team-a", fmt.Sprintf(format, i), count).Index]++
			}
			for index, size := range sizes {
				if mean := 1000 / float64(count); float64(size) > 1.5*mean || float64(size) < 0.5*mean {
					t.Errorf("%s: shard %d of %d has %d of 1000, the mean is %.1f", format, index, count, size, mean)
				}
			}
		}
	}
}

// Pods carry their shard in a label, so a PodManager's shard must be the same in every version of the controller.
func TestShardsStay(t *testing.T) {
	for name, want := range map[string]string{"web": "8-of-16", "db": "14-of-16", "cache": "2-of-16"} {
		if got := Of("default", name, 16).String(); got != want {
			t.Errorf("%s is in shard %s, want %s", name, got, want)
		}
	}
}

func TestHas(t *testing.T) {
	key := cache.NewObjectName("default", "web")
	if !(Shard{}).Has(key) {
		t.Error("without sharding, the zero Shard does not have a PodManager")
	}
	count := 0
	for _, s := range All(16) {
		if s.Has(key) {
			count++
		}
	}
	if count != 1 {
		t.Errorf("a PodManager belongs to %d shards, want one", count)
	}
}

// The selectors match what IsIn and IsUnsharded report, and each object is in exactly one cache of a replica that holds all shards.
func TestSelectors(t *testing.T) {
	const count = 16
	unsharded, err := labels.Parse(UnshardedSelector(count))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", "0-of-16", "15-of-16", "16-of-16", "3-of-8", "03-of-16", "3-of-16x", "-1-of-16", "x", "none"} {
		for _, manager := range []string{"", "web"} {
			set := labels.Set{}
			if manager != "" {
				set[v1.LabelManager] = manager
			}
			if value != "none" {
				set[v1.LabelShard] = value
			}
			caches := 0
			for _, s := range All(count) {
				selector, err := labels.Parse(s.Selector())
				if err != nil {
					t.Fatal(err)
				}
				if got := s.IsIn(set); got != selector.Matches(set) {
					t.Errorf("the labels %v are in shard %v: IsIn says %v, but the selector says %v", set, s, got, !got)
				}
				if got := s.IsUnsharded(set); got != unsharded.Matches(set) {
					t.Errorf("the labels %v are in no shard: IsUnsharded says %v, but the selector says %v", set, got, !got)
				}
				if s.IsIn(set) {
					caches++
				}
			}
			if unsharded.Matches(set) {
				caches++
			}
			if want := len(manager) / len("web"); caches != want {
				t.Errorf("an object with the labels %v is in %d caches, want %d", set, caches, want)
			}
		}
	}
}
