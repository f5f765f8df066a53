package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// The names of sets of revisions in PodsOf.
const (
	NewRevision  = "new"
	OldRevisions = "old"
)

// PodsOf returns the pods of a revision, which is NewRevision, OldRevisions, or the number, hash or name of one. It returns all pods if revision is
// empty.
func (s Snapshot) PodsOf(revision string) ([]*corev1.Pod, error) {
	switch {
	case !s.Reads("pods"):
		return nil, errors.New(rights.ListPods.Missing(s.User, s.Manager.Namespace))
	case len(s.Pods) == 0:
		return nil, fmt.Errorf("%s has no pods", s.Manager.Name)
	}
	update := s.Revisions().Update.Hash
	pods, none := s.Pods, ""
	switch revision {
	case "":
	case NewRevision:
		pods, none = s.podsWhere(func(hash string) bool { return hash == update }), "the new revision"
	case OldRevisions:
		pods, none = s.podsWhere(func(hash string) bool { return hash != update }), "an old revision"
	default:
		chosen, err := s.chosen(revision)
		if err != nil {
			return nil, err
		}
		pods, none = chosen.Pods, chosen.Title()
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("no pod of %s has %s", s.Manager.Name, none)
	}
	return pods, nil
}

// podsWhere returns the pods of the revisions with these hashes.
func (s Snapshot) podsWhere(isWanted func(hash string) bool) (pods []*corev1.Pod) {
	revisions := s.Revisions()
	for _, pod := range s.Pods {
		if isWanted(revisions.HashOf(pod)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// chosen returns the revision with the given number, or else with the given hash or name.
func (s Snapshot) chosen(wanted string) (Revision, error) {
	history := s.History()
	for _, isChosen := range []func(Revision) bool{
		func(r Revision) bool { return r.Number > 0 && wanted == strconv.FormatInt(r.Number, 10) },
		func(r Revision) bool { return wanted == r.Hash || wanted == r.Name },
	} {
		if at := slices.IndexFunc(history, isChosen); at >= 0 {
			return history[at], nil
		}
	}
	if _, err := strconv.Atoi(wanted); err == nil && !s.Reads("controllerrevisions") { // which have the numbers
		return Revision{}, errors.New(rights.ListRevisions.Missing(s.User, s.Manager.Namespace))
	}
	return Revision{}, fmt.Errorf("%s has no revision %q; use %s, %s, or a number or hash that '%s' shows",
		s.Manager.Name, wanted, NewRevision, OldRevisions, text.Hint(s.Manager.Namespace, "history", s.Manager.Name))
}

// Pick returns the running pod to work with. It prefers available pods, then ready ones, then those of the new revision, and then the lowest index.
func (s Snapshot) Pick(pods []*corev1.Pod) (*corev1.Pod, error) {
	revisions := s.Revisions()
	rank := func(pod *corev1.Pod) int {
		points := 0
		if health.IsAvailable(pod, s.Manager.MinReady(), s.Now) {
			points += 4
		}
		if podstate.IsReady(pod) {
			points += 2
		}
		if revisions.HashOf(pod) == revisions.Update.Hash {
			points++
		}
		return points
	}
	isDown := func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning
	}
	running := slices.DeleteFunc(slices.Clone(pods), isDown)
	if len(running) == 0 {
		return nil, fmt.Errorf("%s has no running pod to choose from", s.Manager.Name)
	}
	return slices.MaxFunc(running, func(a, b *corev1.Pod) int { return rank(a) - rank(b) }), nil
}
