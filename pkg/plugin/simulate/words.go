package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
)

// describeEvents puts events into words. Consecutive pods with the same event share one phrase.
func describeEvents(events []Event) string {
	var parts []string
	for first := 0; first < len(events); {
		end := first + 1
		for end < len(events) && isSame(events[first], events[end]) {
			end++
		}
		var pods []string
		for _, event := range events[first:end] {
			if event.Pod != "" {
				pods = append(pods, event.Pod)
			}
		}
		parts = append(parts, events[first].describe(pods))
		first = end
	}
	return strings.Join(parts, "; ")
}

// isSame reports whether the same thing happens to two pods.
func isSame(a, b Event) bool {
	return a.Pod != "" && b.Pod != "" && a.Action == b.Action && a.Why == b.Why && a.IsOld == b.IsOld
}

// describe describes an event of the given pods, or of the rollout if there are none.
func (e Event) describe(pods []string) string {
	revision := ""
	if e.IsOld {
		revision = " to the old revision"
		if e.Action == Created {
			revision = " from the old revision"
		}
	}
	all := enumerate(pods)
	switch e.Action {
	case Begins:
		return "as it is now"
	case Failing:
		return all + plural(len(pods), " fails: ", " fail: ") + e.Why
	case Created:
		return strings.TrimSuffix(all+" created"+revision+" ("+e.Why+")", " ()")
	case Available, Resized, Adopted, Gone, Evicted:
		return all + " " + strings.ToLower(e.Action) + revision
	case Drained:
		return all + " taken out of " + plural(len(pods), "its", "their") + " Services"
	case Unevicted:
		return all + " cannot be evicted: " + e.Why
	case Updated:
		return all + " updated in place" + revision
	case Refused:
		return all + " refused: " + e.Why
	case Restored:
		return all + " resized back"
	case Deleted:
		return all + " deleted (" + e.Why + ")"
	default:
		return e.describeRollout()
	}
}

// describeRollout describes an event of the rollout.
func (e Event) describeRollout() string {
	switch e.Action {
	case Cordoned:
		return "the drain of " + e.Why + " begins"
	case DrainEnds:
		return "the drain of " + e.Why + " ends"
	case DrainStops:
		return "the drain of " + e.Why + " is stuck, and does not end"
	case GivenUp:
		return "failing pods have not recovered in time: the rollout stays halted"
	case Proven:
		return "revision " + e.Why + " has proven itself"
	case v1.EventStarted:
		return "the rollout begins"
	case v1.EventPartition:
		return "the partition is reached"
	case v1.EventPaused:
		return "the rollout is paused"
	case v1.EventHalted:
		return "the rollout halts"
	case v1.EventRolledBack:
		return "the rollback begins"
	case v1.EventDeadline:
		return "no further pod has become available within progressDeadlineSeconds"
	case v1.EventMisconfigured:
		return "a setting cannot take effect: " + e.Why
	default:
		return e.Why
	}
}

// describeChange describes what differs, and what that means for pods.
func (r Report) describeChange() string {
	if r.IsNew {
		return "a first rollout of " + pods(r.Replicas)
	}
	change := r.Change.Summary()
	switch {
	case r.Outcome == NotInPlace:
		change = changed(r.Change.Fields) + ". Pods would have to be replaced."
	case len(r.Change.Fields) > 0:
		change = changed(r.Change.Fields) + ". " + change
	}
	if r.Replicas != r.ReplicasBefore {
		change += fmt.Sprintf(" Replicas: %d, were %d.", r.Replicas, r.ReplicasBefore)
	}
	return change
}

// changed lists the fields that differ.
func changed(fields []revisions.Change) string {
	var list []string
	for _, field := range fields {
		list = append(list, field.String())
	}
	return enumerate(list)
}

// seconds formats a number of seconds as a duration.
func seconds(count float64) string {
	return time.Duration(count * float64(time.Second)).Round(time.Second / 10).String()
}

// enumerate lists the first few names and counts the rest.
func enumerate(names []string) string {
	const most = 3
	switch count := len(names); {
	case count > most+1:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), count-most)
	case count > 1:
		return strings.Join(names[:count-1], ", ") + " and " + names[count-1]
	default:
		return strings.Join(names, "")
	}
}

func sortNames(names []string) { slices.SortFunc(names, podstate.ByIndex) }

func plural[T any](count int, one, many T) T {
	if count == 1 {
		return one
	}
	return many
}

func pods(count int) string { return fmt.Sprintf("%d %s", count, plural(count, "pod", "pods")) }
