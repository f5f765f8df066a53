package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// courseOf continues, without randomness, from a random world after a time of trouble. Every third updated pod crashes, and every fifth is never
// ready.
func courseOf(seed uint64) *World {
	random := New(seed)
	for range 5 {
		random.Step()
	}
	return Begin(Start{Manager: random.Manager, Pods: random.Pods, Revisions: random.Revisions, Now: random.Now.Truncate(time.Second)}, Course{
		ReadyAfter: 10 * time.Second, StopAfter: 3 * time.Second, Fate: func(_ *corev1.Pod, number int) nodes.Quality {
			switch {
			case number%3 == 0:
				return nodes.Crashing
			case number%5 == 0:
				return nodes.NeverReady
			default:
				return nodes.Good
			}
		},
	})
}

// playCourse runs until nothing happens any more, checks the promises that do not depend on earlier events, and returns all plans.
func playCourse(w *World) (lines []string, err error) {
	// Which pods are to blame, and how long a rollout has been without progress, depends on earlier events.
	checked := []string{"trimmed", "names", "surge", "floor", "overlap", "current", "ready-stalled", "stalled-busy", "progressing"}
	if begun := w.Manager.Status.Rollout; begun != nil && begun.BakingSince != nil {
		w.baking = bakingWatch{strings.TrimPrefix(begun.Revision, w.Manager.Name+"-"), begun.BakingSince.Time}
	}
	for range 5000 {
		s := &synced{World: w, observed: w.Observe(), before: w.Manager.Status}
		s.plan = plan.Make(s.observed)
		w.updateHash = s.plan.Revisions.Update.Hash
		lines = append(lines, w.Now.Format(time.TimeOnly)+w.DescribePods()+" => "+strings.Join(Digest(s.plan), ", "))
		for _, promise := range promises {
			if promise.decided != nil && slices.Contains(checked, promise.name) {
				if err := promise.decided(s); err != nil {
					return lines, fmt.Errorf("%s: %w", promise.name, err)
				}
			}
		}
		s.failure = w.Apply(s.plan)
		var changed bool
		s.status, changed = w.Report(s.plan, s.failure)
		w.baking.note(w)
		for _, promise := range promises {
			if promise.reported != nil && slices.Contains(checked, promise.name) {
				if err := promise.reported(s); err != nil {
					return lines, fmt.Errorf("%s: %w", promise.name, err)
				}
			}
		}
		if !w.Elapse(changed || !s.plan.Empty()) {
			return lines, nil
		}
	}
	return lines, fmt.Errorf("the course never becomes idle")
}

// From any state, a course without randomness keeps the promises, becomes idle, and is the same each time.
func TestCourse(t *testing.T) {
	for seed := range uint64(scenarios / 8) {
		lines, err := playCourse(courseOf(seed))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
		if again, _ := playCourse(courseOf(seed)); !slices.Equal(lines, again) {
			t.Fatalf("seed %d: played twice, it is not the same", seed)
		}
	}
}

// A course modifies none of the objects that it begins with.
func TestCourseKeepsItsStart(t *testing.T) {
	random := New(1)
	start := Start{Manager: random.Manager, Pods: random.Pods, Revisions: random.Revisions, Now: random.Now}
	before := []string{random.Describe(), random.DescribePods()}
	w := Begin(start, Course{Fate: func(*corev1.Pod, int) nodes.Quality { return nodes.Good }})
	if _, err := playCourse(w); err != nil {
		t.Fatal(err)
	}
	if after := []string{random.Describe(), random.DescribePods()}; !slices.Equal(before, after) || len(random.Pods) == 0 {
		t.Errorf("before %v, and after %v", before, after)
	}
}
