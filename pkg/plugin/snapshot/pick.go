package snapshot

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
)

// The names of sets of revisions in PodsOf.
const (
	NewRevision  = "new"
	OldRevisions = "old"
)

// PodsOf returns the pods of a revision, which is NewRevision, OldRevisions, or the hash or name of one. It returns all pods if revision is empty.
func (s Snapshot) PodsOf(revision string) ([]*corev1.Pod, error) {
	revisions := s.Revisions()
	isOther := func(pod *corev1.Pod) bool {
		switch hash := revisions.HashOf(pod); revision {
		case "":
			return false
		case NewRevision:
			return hash != revisions.Update.Hash
		case OldRevisions:
			return hash == revisions.Update.Hash
		default:
			return revision != hash && revision != s.Manager.Name+"-"+hash
		}
	}
	pods := slices.DeleteFunc(slices.Clone(s.Pods), isOther)
	switch {
	case !s.Reads("pods"):
		return nil, errors.New(rights.ListPods.Missing(s.User, s.Manager.Namespace))
	case len(s.Pods) == 0:
		return nil, fmt.Errorf("%s has no pods", s.Manager.Name)
	case len(pods) == 0:
		return nil, fmt.Errorf("%s has no pod of the revision %q; use %s, %s or a hash that the history shows", s.Manager.Name, revision, NewRevision, OldRevisions)
	default:
		return pods, nil
	}
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
