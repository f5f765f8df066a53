package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// A failed pod is replaced at once. If the replacement fails too, the next one waits for firstBackOff. The wait doubles with each further failure,
// up to MaxBackOff.
const (
	firstBackOff = 10 * time.Second
	MaxBackOff   = 10 * time.Minute
)

// Retry is a failed pod that has not been replaced. The pod itself carries all that is known about its failure, and is kept until its replacement
// is created, so nothing is lost when the controller restarts.
type Retry struct {
	Pod *corev1.Pod
	// Failures is how many pods have failed in a row, each the replacement of the one before, up to and including this pod. Disruptions is how many
	// of these failures say nothing about the revision.
	Failures, Disruptions int
	// Due is when the replacement may be created.
	Due time.Time
}

// Retries are the failed pods that have not been replaced.
type Retries struct {
	// Waiting are the pods whose backoff is not over, sorted by its end. Due are the pods that may be replaced now, the most failures first.
	Waiting, Due []Retry
}

// FindRetries finds the failed pods of a revision that have not been replaced. Failures of other revisions cause no backoff. A failed pod is replaced
// if there is a pod of the revision that was created to replace it, even if that pod has failed, too.
func FindRetries(revision *history.Revision, active, finished []*corev1.Pod, now time.Time) Retries {
	if revision == nil || len(finished) == 0 {
		return Retries{}
	}
	isReplaced := map[types.UID]bool{}
	for _, pod := range slices.Concat(active, finished) {
		if pod.Labels[v1.LabelRevision] == revision.Hash {
			for _, uid := range Replaces(pod) {
				isReplaced[uid] = true
			}
		}
	}
	var found Retries
	for _, pod := range NewestFirst(finished, now) { // the newest ones are also the last that are deleted, see BeyondHistory
		if pod.Labels[v1.LabelRevision] != revision.Hash || isReplaced[pod.UID] {
			continue
		}
		retry := Retry{Pod: pod, Failures: failuresUpTo(pod, now), Disruptions: disruptionsUpTo(pod, now)}
		if retry.Due = podstate.FinishedAt(pod, now).Add(BackOff(retry.Failures)); now.Before(retry.Due) {
			found.Waiting = append(found.Waiting, retry)
		} else {
			found.Due = append(found.Due, retry)
		}
	}
	slices.SortStableFunc(found.Waiting, func(a, b Retry) int { return a.Due.Compare(b.Due) })
	slices.SortStableFunc(found.Due, func(a, b Retry) int { return -cmp.Compare(a.Failures, b.Failures) })
	return found
}

// maxReplaced is how many UIDs AnnotationReplaces has at most, so that a client that writes a long text costs nothing.
const maxReplaced = 50

// Replaces returns the UIDs of the pods that a pod was created to replace.
func Replaces(pod *corev1.Pod) (uids []types.UID) {
	text, found := pod.Annotations[v1.AnnotationReplaces]
	for len(uids) < maxReplaced && found {
		var uid string
		uid, text, found = strings.Cut(text, ",")
		uids = append(uids, types.UID(uid))
	}
	return uids
}

// SetReplaces records in a new pod which pods it replaces. Without UIDs, it changes nothing.
func SetReplaces(pod *corev1.Pod, uids []types.UID) {
	var texts []string
	for _, uid := range uids[:min(len(uids), maxReplaced)] {
		texts = append(texts, string(uid))
	}
	if len(texts) > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1.AnnotationReplaces, strings.Join(texts, ","))
	}
}

// BeyondHistory returns the finished pods to delete. It keeps the newest ones, up to keep, and the pods that are not replaced yet.
func BeyondHistory(finished []*corev1.Pod, unreplaced []Retry, keep int, now time.Time) []*corev1.Pod {
	var beyond []*corev1.Pod
	kept := 0
	for _, pod := range NewestFirst(finished, now) {
		isUnreplaced := slices.ContainsFunc(unreplaced, func(r Retry) bool { return r.Pod == pod })
		if isUnreplaced || kept < keep {
			kept++
			continue
		}
		beyond = append(beyond, pod)
	}
	return beyond
}

// BackOff returns how long the replacement waits after this many failures in a row.
func BackOff(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	wait := firstBackOff
	for range failures - 2 {
		if wait *= 2; wait >= MaxBackOff {
			return MaxBackOff
		}
	}
	return wait
}

// failuresUpTo returns how many pods have failed in a row, including this pod. A pod that lived for MaxBackOff starts a new row.
func failuresUpTo(pod *corev1.Pod, now time.Time) int {
	if hasLivedLong(pod, now) {
		return 1
	}
	return min(FailuresBefore(pod)+1, math.MaxInt32)
}

// disruptionsUpTo returns how many of the failures that failuresUpTo counts say nothing about the revision. They still count for the backoff:
// otherwise each pod that a node rejects would be replaced at once, without end.
func disruptionsUpTo(pod *corev1.Pod, now time.Time) int {
	count := DisruptionsBefore(pod)
	switch {
	case hasLivedLong(pod, now):
		count = 0
	case inplace.CompletedRecord(pod).Revision != "":
		count = FailuresBefore(pod) // the pods before this one had another revision
	}
	if !IsOwnFailure(pod) {
		count++
	}
	return min(count, math.MaxInt32)
}

// IsOwnFailure reports whether a finished pod counts against its revision: it was not disrupted, and if it was updated in place to that revision,
// the kubelet had carried out the update.
func IsOwnFailure(pod *corev1.Pod) bool {
	return podstate.Disruption(pod) == "" && podstate.HasObserved(pod) && !inplace.AwaitsRestart(pod)
}

// hasLivedLong reports whether the pod lived so long that its failure starts a new row.
func hasLivedLong(pod *corev1.Pod, now time.Time) bool {
	return podstate.FinishedAt(pod, now).Sub(pod.CreationTimestamp.Time) >= MaxBackOff
}

func FailuresBefore(pod *corev1.Pod) int { return countIn(pod, v1.AnnotationFailuresBefore) }

func DisruptionsBefore(pod *corev1.Pod) int { return countIn(pod, v1.AnnotationDisruptionsBefore) }

// countIn returns the count in an annotation, or 0 if the annotation is missing or invalid.
func countIn(pod *corev1.Pod, annotation string) int {
	text, found := pod.Annotations[annotation]
	if !found { // the common case, checked for every pod in every plan
		return 0
	}
	count, err := strconv.ParseInt(text, 10, 32)
	if err != nil || count < 0 {
		return 0
	}
	return int(count)
}

// NewestFirst sorts finished pods by when they finished, the latest first.
func NewestFirst(finished []*corev1.Pod, now time.Time) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(finished), func(a, b *corev1.Pod) int {
		return cmp.Or(-podstate.FinishedAt(a, now).Compare(podstate.FinishedAt(b, now)), -podstate.ByIndex(a.Name, b.Name))
	})
}

// String describes the failure and when the replacement is created. The time is absolute, so that the text does not change until then.
func (r Retry) String() string {
	what := r.Pod.Name + " has failed"
	for i := range r.Pod.Status.ContainerStatuses {
		if text := podstate.ContainerTrouble(&r.Pod.Status.ContainerStatuses[i]); text != "" {
			what = r.Pod.Name + " has failed: " + text
			break
		}
	}
	if why := cmp.Or(podstate.Disruption(r.Pod), podstate.OneLine(r.Pod.Status.Reason, r.Pod.Status.Message)); why != "" {
		what = r.Pod.Name + " has failed: " + why
	}
	return fmt.Sprintf("%s (%d in a row), next try at %s", what, r.Failures, r.Due.UTC().Format(time.RFC3339))
}
