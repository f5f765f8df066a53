package podstate_test

import (
	rand "math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/podstate"
)

// In each case, the first pod ranks before the second by one criterion, and after it by all lower criteria. This shows that the criterion outranks
// the lower ones.
func TestRank(t *testing.T) {
	firstByLowerCriteria := func(p *corev1.Pod) {
		Restarted(9)(p)
		CreatedAgo(time.Minute)(p)
	}
	tests := map[string]struct{ first, second *corev1.Pod }{
		"marked before all": {
			first:  Pod(0, Marked),
			second: Pod(1, Phase(corev1.PodPending), OnNode("")),
		},
		"unassigned before assigned": {
			first:  Pod(0, Phase(corev1.PodRunning), OnNode("")),
			second: Pod(1, Phase(corev1.PodPending)),
		},
		"pending before unknown": {
			first:  Pod(0, Phase(corev1.PodPending), Annotated(corev1.PodDeletionCost, "9")),
			second: Pod(1, Phase(corev1.PodUnknown)),
		},
		"unknown before running": {
			first:  Pod(0, Phase(corev1.PodUnknown), Annotated(corev1.PodDeletionCost, "9")),
			second: Pod(1, NotReady),
		},
		"not ready before ready, whatever the deletion cost": {
			first:  Pod(0, NotReady, Annotated(corev1.PodDeletionCost, "9")),
			second: Pod(1, Annotated(corev1.PodDeletionCost, "-9"), firstByLowerCriteria),
		},
		"lower deletion cost first": {
			first:  Pod(0, Annotated(corev1.PodDeletionCost, "-1")),
			second: Pod(1, ReadyFor(time.Second), firstByLowerCriteria),
		},
		"a higher deletion cost than the default goes later": {
			first:  Pod(0),
			second: Pod(1, Annotated(corev1.PodDeletionCost, "1"), ReadyFor(time.Second), firstByLowerCriteria),
		},
		"ready for a shorter time first": {
			first:  Pod(0, ReadyFor(time.Minute)),
			second: Pod(1, ReadyFor(time.Hour), firstByLowerCriteria),
		},
		"more restarts first": {
			first:  Pod(0, Restarted(2), CreatedAgo(time.Hour)),
			second: Pod(1, Restarted(1), CreatedAgo(time.Minute)),
		},
		"newer first": {
			first:  Pod(0, CreatedAgo(time.Minute)),
			second: Pod(1, CreatedAgo(time.Hour)),
		},
		"else the higher name, so that the order never depends on chance": {
			first:  Pod(1),
			second: Pod(0),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, given := range [][]*corev1.Pod{{test.first, test.second}, {test.second, test.first}} {
				if got := RankForDeletion(given, false); got[0] != test.first {
					t.Errorf("given %v: %s goes first, want %s", Names(given), got[0].Name, test.first.Name)
				}
			}
		})
	}
}

func TestRankPrefersCrowdedNodes(t *testing.T) {
	given := []*corev1.Pod{
		Pod(0, OnNode("a"), ReadyFor(time.Minute)),
		Pod(1, OnNode("b"), ReadyFor(time.Hour)),
		Pod(2, OnNode("b"), ReadyFor(time.Hour)),
	}
	if got := RankForDeletion(given, false)[0].Name; got != "web-2" {
		t.Errorf("%s goes first, want web-2: its node runs two pods", got)
	}
}

func TestRankDoesNotDependOnTheOrderGiven(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 20 {
		pods = append(pods, Pod(i, OnNode("same"), Restarted(int32(i%3)), ReadyFor(time.Duration(i%4)*time.Minute)))
	}
	want := Names(RankForDeletion(pods, false))
	for range 20 {
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		if got := Names(RankForDeletion(pods, false)); !slices.Equal(got, want) {
			t.Fatalf("order %v, want %v", got, want)
		}
	}
}

// Whatever pods there are, deleting pods of equal use leaves the zones as even as their pods allow: a zone that has lost a pod has at most one pod
// fewer than any other zone.
func TestRankKeepsZonesEven(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var pods []*corev1.Pod
		before := map[string]int{}
		for index := range 3 + random.IntN(20) {
			zone := string(rune('a' + random.IntN(4)))
			node := zone + string(rune('0'+random.IntN(3)))
			pods = append(pods, Pod(index, Labelled(corev1.LabelTopologyZone, zone), OnNode(node), ReadyFor(time.Duration(random.IntN(1000))*time.Second)))
			before[zone]++
		}
		ranked := RankForDeletion(pods, random.IntN(2) == 0)
		left := map[string]int{}
		for _, pod := range ranked {
			left[pod.Labels[corev1.LabelTopologyZone]]++
		}
		for _, pod := range ranked {
			left[pod.Labels[corev1.LabelTopologyZone]]--
			for zone := range left {
				for other := range left {
					if left[zone] < before[zone] && left[zone] < left[other]-1 {
						t.Fatalf("seed %d: %v pods are left of %v", seed, left, before)
					}
				}
			}
		}
	}
}

// A pod of less use goes first, even if its zone has few pods.
func TestRankBeforeZones(t *testing.T) {
	zone := func(name string) func(*corev1.Pod) { return Labelled(corev1.LabelTopologyZone, name) }
	pods := []*corev1.Pod{Pod(0, zone("a")), Pod(1, zone("a")), Pod(2, zone("b"), Annotated(corev1.PodDeletionCost, "-1")), Pod(3, zone("a"))}
	if got := RankForDeletion(pods, false); got[0] != pods[2] {
		t.Errorf("%v, want web-2 first", Names(got))
	}
}
