package snapshot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Revision is a revision and its roles in the PodManager.
type Revision struct {
	Name, Hash string
	// Number is the revision's number in the history. It is 0 if the revision is not stored.
	Number int64
	// Roles are those of "new", "current" and "failed" that apply.
	Roles []string
	// Failed reports whether the controller has marked the revision as failed, and Good whether it has marked it as good.
	Failed, Good bool
	Created      time.Time
	Cause        string
	Template     *corev1.PodTemplateSpec
	// Pods are the pods of this revision.
	Pods []*corev1.Pod
}

// Title returns a readable name: "revision 3", or "revision 5d9c7b6f4" if the revision is not stored yet.
func (r Revision) Title() string {
	if r.Number == 0 {
		return "revision " + cmp.Or(r.Hash, r.Name)
	}
	return "revision " + strconv.FormatInt(r.Number, 10)
}

// Role returns all roles as one string.
func (r Revision) Role() string { return strings.Join(r.Roles, ", ") }

// Count returns how many of the pods have not finished, and how many finished ones are kept for inspection.
func (r Revision) Count() (pods, kept int) {
	for _, pod := range r.Pods {
		if podstate.IsFinished(pod) && pod.DeletionTimestamp == nil {
			kept++
		}
	}
	return len(r.Pods) - kept, kept
}

// History returns all revisions, newest first: the stored ones, the one of the current template, and those known only from pods.
func (s Snapshot) History() []Revision {
	known := s.Revisions()
	byHash := map[string]*Revision{}
	var order []*Revision
	add := func(revision *history.Revision) {
		if byHash[revision.Hash] != nil {
			return
		}
		entry := &Revision{Name: revision.Name, Hash: revision.Hash, Template: revision.Template()}
		byHash[revision.Hash] = entry
		order = append(order, entry)
	}
	for _, stored := range s.Stored {
		if found := known.Of(stored); found != nil {
			add(found)
			entry := byHash[found.Hash]
			entry.Number, entry.Created, entry.Cause = stored.Revision, stored.CreationTimestamp.Time, stored.Annotations[v1.AnnotationChangeCause]
			entry.Failed, entry.Good = stored.Annotations[v1.AnnotationFailed] != "", stored.Annotations[v1.AnnotationGood] != ""
		}
	}
	add(known.Update)
	for _, pod := range s.Pods {
		hash := known.HashOf(pod)
		if byHash[hash] == nil { // its ControllerRevision was deleted, or the user may not read it
			order = append(order, &Revision{Name: s.Manager.Name + "-" + hash, Hash: hash})
			byHash[hash] = order[len(order)-1]
		}
		byHash[hash].Pods = append(byHash[hash].Pods, pod)
	}
	list := make([]Revision, 0, len(order))
	for _, entry := range order {
		entry.Failed = entry.Failed || entry.Name == s.Manager.Status.FailedRevision
		entry.Roles = s.rolesOf(entry, known)
		list = append(list, *entry)
	}
	slices.SortStableFunc(list, func(a, b Revision) int { return cmp.Compare(rank(b, known), rank(a, known)) })
	return list
}

// AllHave reports whether all active pods have a revision, without regard to the surplus pods. If there is no active pod, or the user may not read
// pods, it reports false.
func (s Snapshot) AllHave(revision Revision, surplus ...*corev1.Pod) bool {
	active, _, _ := podstate.Split(s.Pods)
	isOther := func(pod *corev1.Pod) bool {
		return !slices.Contains(revision.Pods, pod) && !slices.Contains(surplus, pod)
	}
	return s.Reads("pods") && len(active) > 0 && !slices.ContainsFunc(active, isOther)
}

// rank orders revisions. The revision of the current template is the newest, and revisions without a number are the oldest.
func rank(r Revision, known history.Revisions) int64 {
	if r.Hash == known.Update.Hash {
		return 1 << 62
	}
	return r.Number
}

func (s Snapshot) rolesOf(revision *Revision, known history.Revisions) []string {
	name, status := revision.Name, &s.Manager.Status
	var roles []string
	if name == known.Update.Name && name != status.CurrentRevision {
		roles = append(roles, "new")
	}
	if name == status.CurrentRevision {
		roles = append(roles, "current")
	}
	if revision.Failed {
		roles = append(roles, "failed")
	}
	return roles
}
