package sim

import (
	"regexp"
	"slices"
	"time"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// window is the period in which requests of one kind are counted. mostRequests is the limit, and mostRefusals the limit of refused ones: the
	// manual promises that the controller retries after a second, and then with growing delays until the user edits something.
	window                     = 10 * time.Second
	mostRequests, mostRefusals = 120, 20
	// tellWithin is how long it may take until users are told why the API server refuses a write.
	tellWithin = time.Minute
)

// pace tracks how often the controller sends each request, and which requests are refused.
type pace struct {
	requests map[string][]time.Time
	blamed   map[string]bool // kinds that were reported already
	// refused has the time at which a rule first blocked a PodManager. told has the messages of rules that were reported to users of a PodManager.
	refused map[string]time.Time
	told    map[string]bool
}

func newPace() pace {
	return pace{map[string][]time.Time{}, map[string]bool{}, map[string]time.Time{}, map[string]bool{}}
}

// request handles every request of the controller before it is sent.
func (j *judge) request(r *apiserver.Request) {
	if r.Resource == nil || r.Resource.Name == "events" || r.Verb == "list" || r.Verb == "watch" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.Verb != "get" {
		j.sent[r] = time.Now()
	}
	if r.Resource.Name == "leases" {
		return
	}
	if r.Verb != "get" {
		j.heldAt[r] = j.held(r.Client)
	}
	if r.Resource.Name == "podmanagers" && r.Verb == "get" {
		j.looked[r.Client+"/"+r.Namespace+"/"+r.Name] = time.Now()
	}
	kind := r.String()
	if r.Verb == "create" {
		kind += nameIn(r)
	}
	most := mostRequests
	if r.Verb == "get" {
		most *= 2 // each write of another client causes a sync, and each sync may do live reads
	}
	if count := j.pace.count(kind); count > most && !j.pace.blamed[kind] {
		j.violate("sent %d times in %v: %s", count, window, kind)
		j.pace.blamed[kind] = true
	}
}

// nameIn returns the name of the object that is to be created.
func nameIn(r *apiserver.Request) string {
	if sent := r.Sent(); sent != nil {
		return "/" + sent.GetName()
	}
	return ""
}

// count records a request, and returns how many of its kind there were in the last window.
func (p *pace) count(kind string) int {
	now := time.Now()
	recent := slices.DeleteFunc(p.requests[kind], func(at time.Time) bool { return now.Sub(at) > window })
	p.requests[kind] = append(recent, now)
	return len(recent) + 1
}

// refuse handles every write of the controller that a rule has refused. isAlone reports that no other rule applies to the namespace.
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
		j.violate("sent %d times in %v, although refused each time (%s): %v", count, window, rule.what, review.Request)
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
		j.violate("%s: for %v, neither a condition nor an event has contained %q: %v", key, tellWithin, rule.words, review.Request)
		j.pace.blamed[about] = true
	}
}

// isDecodable reports whether the PodManager exists, is not being deleted, and can be decoded.
func (j *judge) isDecodable(key string) bool {
	for _, known := range j.managers {
		if known.key == key && !known.isGone && known.latest != nil && known.latest.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}

var wordsOfRules = regexp.MustCompile(`rule \d+ says no`)

// hear records the messages of rules in a text that users of a PodManager see.
func (p *pace) hear(key, text string) {
	for _, words := range wordsOfRules.FindAllString(text, -1) {
		p.told[key+": "+words] = true
	}
}
