package plan

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A failed pod is replaced at once; if the replacement fails too, the next one has to wait, ever longer.
const (
	firstBackOff = 10 * time.Second
	lastBackOff  = 10 * time.Minute
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

// retries are the failed pods that have not been replaced.
type retries struct {
	// waiting are those whose time has not come, the next one first; due are the others, the worst first.
	waiting, due []Retry
}

// retriesOf finds the failed pods of a revision that have not been replaced. Another revision is worth a fresh try.
func retriesOf(revision *Revision, active, ended []*corev1.Pod, now time.Time) retries {
	if revision == nil || len(ended) == 0 {
		return retries{}
	}
	// Each replacement tells how many failures it comes after, and how many of them were disruptions: that is how a failed pod
	// is known to have one. The second may have been put down for more, see retries.
	exact, alike := map[[2]int]int{}, map[int]int{}
	for _, pod := range active {
		exact[[2]int{failuresBefore(pod), disruptionsBefore(pod)}]++
		alike[failuresBefore(pod)]++
	}
	var left []Retry
	for _, pod := range newestFirst(ended, now) {
		retry := Retry{Pod: pod, Failures: failuresWith(pod, now), Disruptions: disruptionsWith(pod, now)}
		if pod.Labels[v1.LabelRevision] != revision.Hash {
			continue
		}
		if key := [2]int{retry.Failures, retry.Disruptions}; exact[key] > 0 {
			exact[key]--
			alike[retry.Failures]--
			continue
		}
		retry.Due = endedAt(pod, now).Add(backOff(retry.Failures))
		left = append(left, retry)
	}
	var found retries
	for _, retry := range left {
		switch {
		case alike[retry.Failures] > 0:
			alike[retry.Failures]--
		case now.Before(retry.Due):
			found.waiting = append(found.waiting, retry)
		default:
			found.due = append(found.due, retry)
		}
	}
	slices.SortStableFunc(found.waiting, func(a, b Retry) int { return a.Due.Compare(b.Due) })
	slices.SortStableFunc(found.due, func(a, b Retry) int { return -cmp.Compare(a.Failures, b.Failures) })
	return found
}

// retries are the failed pods of the present revision that have not been replaced. One that was disrupted, and was not failing before
// that, excuses those before it: they are over.
func (r *rollout) retries(ended []*corev1.Pod) retries {
	found := retriesOf(r.revisions.Update, r.updated, ended, r.now)
	for _, list := range [][]Retry{found.waiting, found.due} {
		for i := range list {
			if record, known := r.remembered(list[i].Pod); r.isFollowed() && !isOwnEnd(list[i].Pod) && (!known || record.Recovered) {
				list[i].Disruptions = list[i].Failures
			}
		}
	}
	return found
}

// beyondHistory are the ended pods to remove: all but the newest that the history keeps, and those whose place is yet to
// be filled.
func beyondHistory(ended []*corev1.Pod, unfilled []Retry, keep int, now time.Time) []*corev1.Pod {
	var remove []*corev1.Pod
	kept := 0
	for _, pod := range newestFirst(ended, now) {
		isUnfilled := slices.ContainsFunc(unfilled, func(r Retry) bool { return r.Pod == pod })
		if isUnfilled || kept < keep {
			kept++
			continue
		}
		remove = append(remove, pod)
	}
	return remove
}

// backOff is how long the place stays empty after so many failures in a row.
func backOff(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	wait := firstBackOff
	for range failures - 2 {
		if wait *= 2; wait >= lastBackOff {
			return lastBackOff
		}
	}
	return wait
}

// failuresWith is how many pods have failed in a row up to this one. A pod that had lived for long is no part of a row.
func failuresWith(pod *corev1.Pod, now time.Time) int {
	if hasLived(pod, now) {
		return 1
	}
	return failuresBefore(pod) + 1
}

// disruptionsWith is how many of them were disrupted. They wait like the others: a node that takes no pods can be asked
// again in no time.
func disruptionsWith(pod *corev1.Pod, now time.Time) int {
	count := disruptionsBefore(pod)
	switch {
	case hasLived(pod, now):
		count = 0
	case inPlaceRecord(pod).Revision != "":
		count = failuresBefore(pod) // these had another revision
	}
	if !isOwnEnd(pod) {
		count++
	}
	return count
}

// isOwnEnd tells whether a pod that has ended tells something about its revision: nobody else has stopped it, and it did run that
// revision, if it was changed to it in place.
func isOwnEnd(pod *corev1.Pod) bool {
	return disruption(pod) == "" && hasObserved(pod) && !isToRestart(pod)
}

func hasLived(pod *corev1.Pod, now time.Time) bool {
	return endedAt(pod, now).Sub(pod.CreationTimestamp.Time) >= lastBackOff
}

func failuresBefore(pod *corev1.Pod) int    { return countIn(pod, v1.AnnotationFailuresBefore) }
func disruptionsBefore(pod *corev1.Pod) int { return countIn(pod, v1.AnnotationDisruptionsBefore) }

// countIn is the number in an annotation; anything else is none.
func countIn(pod *corev1.Pod, annotation string) int {
	count, err := strconv.Atoi(pod.Annotations[annotation])
	if err != nil || count < 0 {
		return 0
	}
	return count
}

// newestFirst sorts ended pods by when they ended.
func newestFirst(ended []*corev1.Pod, now time.Time) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(ended), func(a, b *corev1.Pod) int {
		return cmp.Or(-endedAt(a, now).Compare(endedAt(b, now)), -ByIndex(a.Name, b.Name))
	})
}
