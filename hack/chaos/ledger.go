package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
	"github.com/mycompany/podmanager/pkg/shard"
)

// ledger has the writes of replicas that share the work, from the audit log. Each replica has a token of its own.
type ledger struct {
	log             *lab.AuditLog
	user, namespace string
	// prefix is that of the names of the Leases by which replicas tell that they are alive.
	prefix string

	mu     sync.Mutex
	writes []request
	// leases are the names of these Leases, by the token that has created them.
	leases map[string]string
}

func openLedger(file, user, namespace, prefix string) (*ledger, error) {
	log, err := lab.OpenAuditLog(file)
	return &ledger{log: log, user: user, namespace: namespace, prefix: prefix, leases: map[string]string{}}, err
}

// follow reads until ctx is done: the API server begins a new file now and then.
func (l *ledger) follow(ctx context.Context) {
	for lab.Pause(ctx, 2*time.Second) {
		_ = l.read() // the last call tells
	}
}

// read reads what was written since the last call.
func (l *ledger) read() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, err := l.log.ReadLines()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if bytes.Contains(line, []byte(l.user)) {
			if err := l.add(line); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *ledger) add(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("the audit log has %s: %w", line, err)
	}
	switch {
	case r.User.Username != l.user || !r.succeeded():
	case r.ObjectRef.Resource == "leases" && r.Verb == "create" && strings.HasPrefix(r.ObjectRef.Name, l.prefix):
		l.leases[r.credential()] = r.ObjectRef.Name
	case r.isWrite() && r.ObjectRef.Namespace == l.namespace && r.ObjectRef.Resource != "events":
		l.writes = append(l.writes, r)
	}
	return nil
}

// leaseOf is the Lease by which the replica with this token tells that it is alive.
func (l *ledger) leaseOf(credential string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leases[credential]
}

// firstWrite is when the first write about a PodManager after a time was received.
func (l *ledger) firstWrite(manager string, after time.Time) (at time.Time, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, write := range l.writes {
		if write.manager() == manager && write.Received.After(after) && (!found || write.Received.Before(at)) {
			at, found = write.Received, true
		}
	}
	return at, found
}

// manager is the PodManager that a write is about: the names of pods and revisions are its name, a dash, and an index or a hash.
func (r request) manager() string {
	if r.ObjectRef.Resource == "podmanagers" {
		return r.ObjectRef.Name
	}
	return r.ObjectRef.Name[:max(0, strings.LastIndex(r.ObjectRef.Name, "-"))]
}

// bound is what a write that comes late can do at the most.
func (r request) bound() string {
	switch kind := r.Verb + " " + r.ObjectRef.Resource; {
	case r.Verb == "create":
		return "the name is the same whoever creates it, so that there are never two; the holder deletes it if it had deleted it before"
	case r.Verb == "delete":
		return "it has the UID as a precondition, so that it deletes nothing newer"
	case r.Verb == "update":
		return "it has the resourceVersion, so that it changes nothing newer"
	case kind == "patch podmanagers" && r.ObjectRef.Subresource == "status":
		return "it has the UID and no resourceVersion, so that an older status may show until the holder writes the next one"
	default:
		return "it has the UID and no resourceVersion, so that it changes this object only, which the holder sees"
	}
}

// judge compares the writes with the history of the Leases: each has to come from the replica that held the shard at that time. It returns
// how many writes it has judged.
func (l *ledger) judge(history *leaseHistory, name string, shards int, tell func(credential string, at time.Time) string) (int, []faults.Violation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var violations []faults.Violation
	for _, write := range l.writes {
		part := shard.Of(l.namespace, write.manager(), shards)
		replica := history.firstHolder(l.leases[write.credential()])
		why, may := "it has no Lease of its own", false
		if replica != "" {
			why, may = history.mayWrite(fmt.Sprintf("%s-shard-%v", name, part), replica, write.Received)
		}
		if !may {
			violations = append(violations, faults.Violation{Invariant: "I7", Object: write.ObjectRef.Name,
				What: fmt.Sprintf("%v at %s by %s, which did not hold the Lease of shard %v: %s. %s. What bounds it: %s", write,
					clock(write.Received), replica, part, why, tell(write.credential(), write.Received), write.bound())})
		}
	}
	return len(l.writes), violations
}
