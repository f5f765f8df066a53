package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Each case has two pods that differ in one thing, and in everything that comes after it in the order, the other way
// round: so the one thing decides, and outranks the rest.
func TestRank(t *testing.T) {
	worseInAllElse := func(p *corev1.Pod) {
		restarted(9)(p)
		createdAgo(time.Minute)(p)
	}
	tests := map[string]struct{ first, second *corev1.Pod }{
		"marked before all": {
			first:  pod(0, marked),
			second: pod(1, phase(corev1.PodPending), onNode("")),
		},
		"unassigned before assigned": {
			first:  pod(0, phase(corev1.PodRunning), onNode("")),
			second: pod(1, phase(corev1.PodPending)),
		},
		"pending before unknown": {
			first:  pod(0, phase(corev1.PodPending), annotated(corev1.PodDeletionCost, "9")),
			second: pod(1, phase(corev1.PodUnknown)),
		},
		"unknown before running": {
			first:  pod(0, phase(corev1.PodUnknown), annotated(corev1.PodDeletionCost, "9")),
			second: pod(1, notReady),
		},
		"not ready before ready, whatever the deletion cost": {
			first:  pod(0, notReady, annotated(corev1.PodDeletionCost, "9")),
			second: pod(1, annotated(corev1.PodDeletionCost, "-9"), worseInAllElse),
		},
		"lower deletion cost first": {
			first:  pod(0, annotated(corev1.PodDeletionCost, "-1")),
			second: pod(1, readyFor(time.Second), worseInAllElse),
		},
		"a higher deletion cost than the default goes later": {
			first:  pod(0),
			second: pod(1, annotated(corev1.PodDeletionCost, "1"), readyFor(time.Second), worseInAllElse),
		},
		"ready for a shorter time first": {
			first:  pod(0, readyFor(time.Minute)),
			second: pod(1, readyFor(time.Hour), worseInAllElse),
		},
		"more restarts first": {
			first:  pod(0, restarted(2), createdAgo(time.Hour)),
			second: pod(1, restarted(1), createdAgo(time.Minute)),
		},
		"newer first": {
			first:  pod(0, createdAgo(time.Minute)),
			second: pod(1, createdAgo(time.Hour)),
		},
		"else the higher name, so that the order never depends on chance": {
			first:  pod(1),
			second: pod(0),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, given := range [][]*corev1.Pod{{test.first, test.second}, {test.second, test.first}} {
				if got := rank(given, false); got[0] != test.first {
					t.Errorf("given %v: %s goes first, want %s", names(given), got[0].Name, test.first.Name)
				}
			}
		})
	}
}

func TestRankPrefersCrowdedNodes(t *testing.T) {
	given := []*corev1.Pod{
		pod(0, onNode("a"), readyFor(time.Minute)),
		pod(1, onNode("b"), readyFor(time.Hour)),
		pod(2, onNode("b"), readyFor(time.Hour)),
	}
	if got := rank(given, false)[0].Name; got != "web-2" {
		t.Errorf("%s goes first, want web-2: its node has two", got)
	}
}

func TestRankDoesNotDependOnTheOrderGiven(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 20 {
		pods = append(pods, pod(i, onNode("same"), restarted(int32(i%3)), readyFor(time.Duration(i%4)*time.Minute)))
	}
	want := names(rank(pods, false))
	for range 20 {
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		if got := names(rank(pods, false)); !slices.Equal(got, want) {
			t.Fatalf("order %v, want %v", got, want)
		}
	}
}
