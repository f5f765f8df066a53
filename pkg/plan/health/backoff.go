package health

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// A failed pod is replaced at once; if the replacement fails too, the next one has to wait, ever longer.
const (
	firstBackOff = 10 * time.Second
	LastBackOff  = 10 * time.Minute
)

// Retry is a failed pod whose place is to be filled again. All that is known about it is written on the pod itself, and
// the pod is kept until its replacement is made: so nothing is lost when the controller restarts.
type Retry struct {
	Pod *corev1.Pod
	// Failures is how many pods have failed one after the other, this one included; Disruptions is how many of them tell
	// nothing about their revision.
	Failures, Disruptions int
	// Due is when the place may be filled again.
	Due time.Time
}

// Retries are the failed pods that have not been replaced.
type Retries struct {
	// waiting are those whose time has not come, the next one first; due are the others, the worst first.
	Waiting, Due []Retry
}

// FindRetries finds the failed pods of a revision that have not been replaced. Another revision is worth a fresh try.
func FindRetries(revision *history.Revision, active, finished []*corev1.Pod, now time.Time) Retries {
	if revision == nil || len(finished) == 0 {
		return Retries{}
	}
	// Each replacement tells how many failures it comes after, and how many of them were disruptions: that is how a failed pod
	// is known to have one. The second may have been put down for more, see retries.
	exact, alike := map[[2]int]int{}, map[int]int{}
	for _, pod := range active {
		exact[[2]int{FailuresBefore(pod), DisruptionsBefore(pod)}]++
		alike[FailuresBefore(pod)]++
	}
	var left []Retry
	for _, pod := range NewestFirst(finished, now) {
		retry := Retry{Pod: pod, Failures: failuresWith(pod, now), Disruptions: disruptionsWith(pod, now)}
		if pod.Labels[v1.LabelRevision] != revision.Hash {
			continue
		}
		if key := [2]int{retry.Failures, retry.Disruptions}; exact[key] > 0 {
			exact[key]--
			alike[retry.Failures]--
			continue
		}
		retry.Due = podstate.FinishedAt(pod, now).Add(BackOff(retry.Failures))
		left = append(left, retry)
	}
	var found Retries
	for _, retry := range left {
		switch {
		case alike[retry.Failures] > 0:
			alike[retry.Failures]--
		case now.Before(retry.Due):
			found.Waiting = append(found.Waiting, retry)
		default:
			found.Due = append(found.Due, retry)
		}
	}
	slices.SortStableFunc(found.Waiting, func(a, b Retry) int { return a.Due.Compare(b.Due) })
	slices.SortStableFunc(found.Due, func(a, b Retry) int { return -cmp.Compare(a.Failures, b.Failures) })
	return found
}

// BeyondHistory are the finished pods to remove: all but the newest that the history keeps, and those whose place is yet to
// be filled.
func BeyondHistory(finished []*corev1.Pod, unfilled []Retry, keep int, now time.Time) []*corev1.Pod {
	var remove []*corev1.Pod
	kept := 0
	for _, pod := range NewestFirst(finished, now) {
		isUnfilled := slices.ContainsFunc(unfilled, func(r Retry) bool { return r.Pod == pod })
		if isUnfilled || kept < keep {
			kept++
			continue
		}
		remove = append(remove, pod)
	}
	return remove
}

// BackOff is how long the place stays empty after so many failures in a row.
func BackOff(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	wait := firstBackOff
	for range failures - 2 {
		if wait *= 2; wait >= LastBackOff {
			return LastBackOff
		}
	}
	return wait
}

// failuresWith is how many pods have failed in a row up to this one. A pod that had lived for long is no part of a row.
func failuresWith(pod *corev1.Pod, now time.Time) int {
	if hasLived(pod, now) {
		return 1
	}
	return FailuresBefore(pod) + 1
}

// disruptionsWith is how many of them were disrupted. They wait like the others: a node that takes no pods can be asked
// again in no time.
func disruptionsWith(pod *corev1.Pod, now time.Time) int {
	count := DisruptionsBefore(pod)
	switch {
	case hasLived(pod, now):
		count = 0
	case inplace.CompletedRecord(pod).Revision != "":
		count = FailuresBefore(pod) // these had another revision
	}
	if !IsOwnFailure(pod) {
		count++
	}
	return count
}

// IsOwnFailure tells whether a pod that has finished tells something about its revision: nobody else has stopped it, and it did run that
// revision, if it was changed to it in place.
func IsOwnFailure(pod *corev1.Pod) bool {
	return podstate.Disruption(pod) == "" && podstate.HasObserved(pod) && !inplace.IsToRestart(pod)
}

func hasLived(pod *corev1.Pod, now time.Time) bool {
	return podstate.FinishedAt(pod, now).Sub(pod.CreationTimestamp.Time) >= LastBackOff
}

func FailuresBefore(pod *corev1.Pod) int { return countIn(pod, v1.AnnotationFailuresBefore) }

func DisruptionsBefore(pod *corev1.Pod) int { return countIn(pod, v1.AnnotationDisruptionsBefore) }

// countIn is the number in an annotation; anything else is none.
func countIn(pod *corev1.Pod, annotation string) int {
	count, err := strconv.Atoi(pod.Annotations[annotation])
	if err != nil || count < 0 {
		return 0
	}
	return count
}

// NewestFirst sorts finished pods by when they finished.
func NewestFirst(finished []*corev1.Pod, now time.Time) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(finished), func(a, b *corev1.Pod) int {
		return cmp.Or(-podstate.FinishedAt(a, now).Compare(podstate.FinishedAt(b, now)), -podstate.ByIndex(a.Name, b.Name))
	})
}

// String tells what failed and when the next try is. The time is absolute, so that the text stays the same until then.
func (r Retry) String() string {
	what := r.Pod.Name + " has failed"
	for i := range r.Pod.Status.ContainerStatuses {
		if text := podstate.ContainerTrouble(&r.Pod.Status.ContainerStatuses[i]); text != "" {
			what = r.Pod.Name + " has failed: " + text
			break
		}
	}
	if why := podstate.OneLine(r.Pod.Status.Reason, r.Pod.Status.Message); why != "" {
		what = r.Pod.Name + " has failed: " + why
	}
	return fmt.Sprintf("%s (%d in a row), next try at %s", what, r.Failures, r.Due.UTC().Format(time.RFC3339))
}
