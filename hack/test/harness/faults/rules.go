package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request has the properties of a request that rules match. Verbs and resources have their RBAC names.
type Request struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// IsWrite reports whether the request changes something.
func (r Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Is reports whether the request has this verb and is for this resource, not for a subresource.
func (r Request) Is(verb, resource string) bool {
	return r.Verb == verb && r.Resource == resource && r.Subresource == ""
}

func (r Request) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %s/%s/%s/%s", r.Verb, r.Namespace, r.Resource, r.Name, r.Subresource), "/")
}

// Fault is what the proxy does to a request. The zero value does nothing.
type Fault struct {
	// Delay is how long the request is held back before anything else.
	Delay time.Duration
	// Status, if not 0, is the status code of the answer. The request is not forwarded.
	Status int
	// RetryAfter goes with Status. It is sent in whole seconds, as HTTP requires.
	RetryAfter time.Duration
	// DropAnswer forwards the request. Once the server has answered, it breaks the connection instead of forwarding the answer.
	DropAnswer bool
	// Strike is called instead of forwarding the request or, with DropAnswer, when the server has answered. The client gets no answer.
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

// Rule defines which faults hit which requests.
type Rule struct {
	// Name is for the log.
	Name string
	// Match selects requests; nil selects all.
	Match func(Request) bool
	// Rate is the share of the matching requests that the rule hits; 1 for all of them.
	Rate float64
	// Faults are the faults of which one is drawn for each request.
	Faults []Fault
}

// Entry is one action of the proxy.
type Entry struct {
	Time    time.Time
	Rule    string
	Request Request
	Did     string
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s: %s: %s", e.Time.Format("15:04:05.000"), e.Rule, e.Request, e.Did)
}

// Inject adds a rule, and returns the function that removes it. The first rule that hits a request decides.
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

// choose draws the fault for a request. The seed determines the sequence of draws. Which request gets which draw depends on the order in which
// requests arrive.
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

// note adds an entry to the log.
func (p *Proxy) note(rule string, request Request, did string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, Entry{time.Now(), rule, request, did})
}

// Log returns every action of the proxy except for plain forwarding.
func (p *Proxy) Log() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Count returns how often a rule has hit.
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

// parse reads a request as the API server does. A request that is not for a resource, such as /version, has only a verb.
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
	request.readPath(parts)
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

// readPath reads the part of a path after the version. A Namespace itself is a resource; only status and finalize are its subresources.
func (r *Request) readPath(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	for i, field := range []*string{&r.Resource, &r.Name, &r.Subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
}

func isTrue(value string) bool {
	return value == "true" || value == "1"
}
