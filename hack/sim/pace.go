package sim

import (
	"regexp"
	"slices"
	"time"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// window is the time in which requests of one kind are counted; mostRequests is how many there may be, mostRefusals how many of them may
	// have been refused: the manual promises the next attempt after a second, and each further one later, until the user edits something.
	window                     = 10 * time.Second
	mostRequests, mostRefusals = 120, 20
	// tellWithin is how long users may have to wait until they are told why the API server refuses something.
	tellWithin = time.Minute
)

// pace is how often the controller sends which request, and what was refused.
type pace struct {
	requests map[string][]time.Time
	blamed   map[string]bool // what was told once
	// refused is since when a rule is in the way of a PodManager; told are the words of rules that users of a PodManager have been told.
	refused map[string]time.Time
	told    map[string]bool
}

func newPace() pace {
	return pace{map[string][]time.Time{}, map[string]bool{}, map[string]time.Time{}, map[string]bool{}}
}

// request takes every request of the controller, before it is sent.
func (j *judge) request(r *apiserver.Request) {
	if r.Resource == nil || r.Resource.Name == "leases" || r.Resource.Name == "events" || r.Verb == "list" || r.Verb == "watch" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.Resource.Name == "pods" && (r.Verb == "delete" || r.Verb == "patch") {
		j.sent[r] = time.Now()
	}
	kind := r.String()
	if r.Verb == "create" {
		kind += nameIn(r)
	}
	most := mostRequests
	if r.Verb == "get" {
		most *= 2 // another client that writes all the time causes a sync each time, and each may read live what is in doubt
	}
	if count := j.pace.count(kind); count > most && !j.pace.blamed[kind] {
		j.violate("%d times in %v: %s", count, window, kind)
		j.pace.blamed[kind] = true
	}
}

// nameIn is the name of an object that is to be created.
func nameIn(r *apiserver.Request) string {
	if sent := r.Sent(); sent != nil {
		return "/" + sent.GetName()
	}
	return ""
}

// count is how many requests of a kind there were in the last window.
func (p *pace) count(kind string) int {
	now := time.Now()
	recent := slices.DeleteFunc(p.requests[kind], func(at time.Time) bool { return now.Sub(at) > window })
	p.requests[kind] = append(recent, now)
	return len(recent) + 1
}

// refuse takes every write of the controller that a rule has refused. isAlone says that no other rule is in the way.
func (j *judge) refuse(rule *rule, review *apiserver.Review, isAlone bool) {
	object := review.Object
	if object == nil {
		object = review.Old
	}
	manager := object.GetLabels()[v1.LabelManager]
	if review.Request.Resource.Name == "podmanagers" {
		manager = object.GetName()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	kind := "refused: " + review.Request.String()
	if review.Operation == apiserver.Create {
		kind += "/" + object.GetName()
	}
	if count := j.pace.count(kind); count > mostRefusals && !j.pace.blamed[kind] {
		j.violate("%d times in %v, and %s each time: %v", count, window, rule.what, review.Request)
		j.pace.blamed[kind] = true
	}
	key := object.GetNamespace() + "/" + manager
	about := key + ": " + rule.words
	since, found := j.pace.refused[about]
	switch {
	case !found:
		j.pace.refused[about] = time.Now()
	case !isAlone || j.timely.isTroubled(since, "") || !j.isDecodable(key):
		j.pace.refused[about] = time.Now()
	case time.Since(since) > tellWithin && !j.pace.told[about] && !j.pace.blamed[about]:
		j.violate("%s: neither a condition nor an event has told for %v that %q: %v", key, tellWithin, rule.words, review.Request)
		j.pace.blamed[about] = true
	}
}

// isDecodable reports whether there is a PodManager of this name that is not being deleted and that can be decoded.
func (j *judge) isDecodable(key string) bool {
	for _, known := range j.managers {
		if known.key == key && !known.isGone && known.latest != nil && known.latest.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}

var wordsOfRules = regexp.MustCompile(`rule \d+ says no`)

// hear notes what users of a PodManager are told.
func (p *pace) hear(key, text string) {
	for _, words := range wordsOfRules.FindAllString(text, -1) {
		p.told[key+": "+words] = true
	}
}
