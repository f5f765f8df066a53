package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is what rules choose by. Verbs and resources are called as in RBAC.
type Request struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// IsWrite tells whether the request changes something.
func (r Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Is tells whether the request is of this verb, for this resource itself.
func (r Request) Is(verb, resource string) bool {
	return r.Verb == verb && r.Resource == resource && r.Subresource == ""
}

func (r Request) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %s/%s/%s/%s", r.Verb, r.Namespace, r.Resource, r.Name, r.Subresource), "/")
}

// Fault is what is done to a request. Its zero value does nothing.
type Fault struct {
	// Delay is how long the request is held back before anything else.
	Delay time.Duration
	// Status, if not 0, is the answer; the request is not forwarded.
	Status int
	// RetryAfter goes with Status; in whole seconds, as HTTP has it.
	RetryAfter time.Duration
	// DropAnswer forwards the request and, once the server has answered, breaks off instead of passing the answer on.
	DropAnswer bool
	// Strike is called before the request would be forwarded, which it then is not; or, with DropAnswer, when the server
	// has answered. The client gets no answer.
	Strike func()
}

func (f Fault) String() string {
	switch {
	case f.Status != 0:
		return fmt.Sprintf("answered %d", f.Status)
	case f.Strike != nil:
		return "struck"
	case f.DropAnswer:
		return "dropped the answer"
	default:
		return fmt.Sprintf("delayed by %v", f.Delay)
	}
}

// Rule says what happens to whom.
type Rule struct {
	// Name is for the log.
	Name string
	// Match chooses requests; nil stands for all.
	Match func(Request) bool
	// Rate is the share of the matching requests that is hit; 1 for all of them.
	Rate float64
	// Faults are what may happen to those; each time one of them is drawn.
	Faults []Fault
}

// Entry is one thing that the proxy did.
type Entry struct {
	Time    time.Time
	Rule    string
	Request Request
	Did     string
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s: %s: %s", e.Time.Format("15:04:05.000"), e.Rule, e.Request, e.Did)
}

// Inject adds a rule, and returns what takes it away again. The first rule that hits a request decides.
func (p *Proxy) Inject(rule Rule) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := &rule
	p.rules = append(p.rules, added)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rules = slices.DeleteFunc(p.rules, func(r *Rule) bool { return r == added })
	}
}

// choose draws what happens to a request. The seed decides the sequence of draws; which request meets which draw is
// up to the order in which they arrive.
func (p *Proxy) choose(request Request) (rule string, fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range p.rules {
		if rule.Match != nil && !rule.Match(request) || p.random.Float64() >= rule.Rate {
			continue
		}
		return rule.Name, rule.Faults[p.random.IntN(len(rule.Faults))]
	}
	return "", Fault{}
}

// note adds to the log.
func (p *Proxy) note(rule string, request Request, did string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, Entry{time.Now(), rule, request, did})
}

// Log has all that the proxy did other than passing on.
func (p *Proxy) Log() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Count is how often a rule has hit.
func (p *Proxy) Count(rule string) int {
	count := 0
	for _, entry := range p.Log() {
		if entry.Rule == rule {
			count++
		}
	}
	return count
}

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	http.MethodGet: "get",
}

// parse reads a request as the API server does. One that is about no resource, such as /version, has a verb only.
func parse(r *http.Request) Request {
	request := Request{Verb: verbs[r.Method]}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		request.Group = parts[1]
		parts = parts[3:]
	default:
		return request
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		request.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	for i, field := range []*string{&request.Resource, &request.Name, &request.Subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	switch {
	case r.Method == http.MethodGet && isTrue(r.URL.Query().Get("watch")):
		request.Verb = "watch"
	case r.Method == http.MethodGet && request.Name == "":
		request.Verb = "list"
	case r.Method == http.MethodDelete && request.Name == "":
		request.Verb = "deletecollection"
	}
	return request
}

func isTrue(value string) bool {
	return value == "true" || value == "1"
}
