package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mycompany/podmanager/hack/lab"
)

// request is a request that somebody has made of the API server.
type request struct {
	user, agent string
	// what is its verb and resource, such as "update podmanagers/status".
	what string
}

// ledger is how often each kind of request was made.
type ledger map[string]int

func (l ledger) add(requests []request, by func(request) bool) (added int) {
	for _, r := range requests {
		if by(r) {
			l[r.what]++
			added++
		}
	}
	return added
}

// sum counts the requests that are asked for.
func (l ledger) sum(is func(what string) bool) int {
	sum := 0
	for what, count := range l {
		if is(what) {
			sum += count
		}
	}
	return sum
}

func isAny(string) bool { return true }

// isWrite leaves out the questions about one's own rights: they are created, but stored nowhere.
func isWrite(what string) bool {
	verb, resource, _ := strings.Cut(what, " ")
	return !slices.Contains([]string{"get", "list", "watch"}, verb) && !strings.HasPrefix(resource, "selfsubject")
}

// isStatusWrite is about the status of owners: nobody but a node writes that of a pod.
func isStatusWrite(what string) bool {
	return isWrite(what) && strings.HasSuffix(what, "/status") && !strings.HasSuffix(what, " pods/status")
}

// readAudit returns the requests that were answered since the last call.
func readAudit(log *lab.AuditLog) ([]request, error) {
	lines, err := log.ReadLines()
	if err != nil {
		return nil, err
	}
	return parseAudit(lines)
}

// parseAudit reads lines of the log. A watch is told of when it begins and again when it ends, anything else once.
func parseAudit(lines [][]byte) ([]request, error) {
	requests := make([]request, 0, len(lines))
	for _, data := range lines {
		var line struct {
			Stage, Verb, UserAgent string
			User                   struct{ Username string }
			ObjectRef              struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(data, &line); err != nil {
			return nil, fmt.Errorf("the audit log: %w: %s", err, data)
		}
		if line.Stage == "ResponseComplete" && line.Verb == "watch" || line.Stage == "ResponseStarted" && line.Verb != "watch" {
			continue
		}
		resource := line.ObjectRef.Resource
		if resource == "" {
			resource = "other paths" // such as /apis
		}
		requests = append(requests, request{
			user: line.User.Username, agent: line.UserAgent,
			what: strings.TrimSuffix(line.Verb+" "+resource+"/"+line.ObjectRef.Subresource, "/"),
		})
	}
	return requests, nil
}
