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
