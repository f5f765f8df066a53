package leasehistory

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Ledger has the writes of replicas that share the work, from the audit log. Each replica has a separate token.
type Ledger struct {
	log             *audit.Log
	user, namespace string

	mu     sync.Mutex
	writes []audit.Request
}

// OpenLedger opens the audit log at its end. All replicas use this user, and work in this namespace.
func OpenLedger(file, user, namespace string) (*Ledger, error) {
	log, err := audit.Open(file)
	return &Ledger{log: log, user: user, namespace: namespace}, err
}

// Follow reads until ctx is done, because the API server rotates the file from time to time.
func (l *Ledger) Follow(ctx context.Context) {
	for lab.Pause(ctx, 2*time.Second) {
		_ = l.Read() // the caller's last Read returns the error
	}
}

// Read reads the entries since the last call.
func (l *Ledger) Read() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	requests, err := l.log.Read(l.user)
	for _, r := range requests {
		l.add(r)
	}
	return err
}

// Close closes the audit log.
func (l *Ledger) Close() error { return l.log.Close() }

func (l *Ledger) add(r audit.Request) {
	if r.User.Username == l.user && r.Succeeded() && r.IsWriteOf(l.user, l.namespace) && r.ObjectRef.Resource != "events" {
		l.writes = append(l.writes, r)
	}
}

// FirstOfPods returns when the API server received the first create or delete of a PodManager's pod after a time.
func (l *Ledger) FirstOfPods(manager string, after time.Time) (at time.Time, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, write := range l.writes {
		isOfPods := write.What() == "create pods" || write.What() == "delete pods"
		if isOfPods && managerOf(write) == manager && write.Received.After(after) && (!found || write.Received.Before(at)) {
			at, found = write.Received, true
		}
	}
	return at, found
}

// managerOf returns the name of the PodManager that a write concerns. The names of pods and revisions are its name, a dash, and an index or a hash.
func managerOf(r audit.Request) string {
	if r.ObjectRef.Resource == "podmanagers" {
		return r.ObjectRef.Name
	}
	return r.ObjectRef.Name[:max(0, strings.LastIndex(r.ObjectRef.Name, "-"))]
}

// boundOf describes the maximum effect of a late write.
func boundOf(r audit.Request) string {
	switch {
	case r.Verb == "create":
		return "the pod has the same name whichever replica creates it, so that there are never two; " +
			"if the holder of the Lease had already deleted that pod, it deletes it again"
	case r.Verb == "delete":
		return "the request has the UID as a precondition, so it cannot delete a newer object"
	case r.Verb == "update":
		return "the request has the resourceVersion, so it cannot change a newer version"
	case r.What() == "patch podmanagers/status":
		return "the request has the UID but no resourceVersion, so an older status may show until the holder writes the next one"
	default:
		return "the request has the UID but no resourceVersion, so it changes only this object, and the holder sees the change"
	}
}

// Judge compares the writes with the history of the Leases. Each write has to come from the replica that held the shard when the write was received
// or sent. onTheWay returns how long a write may have been in flight. holder returns the identity in Leases of the replica with this token; empty if
// the identity is unknown. tell describes the faults of that replica. Judge returns the number of writes, and the violations.
func (l *Ledger) Judge(history *History, name string, shards int, holder func(credential string) string, onTheWay func(received time.Time) time.Duration,
	tell func(credential string, at time.Time) string) (int, []faults.Violation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var violations []faults.Violation
	for _, write := range l.writes {
		part := shard.Of(l.namespace, managerOf(write), shards)
		replica := holder(write.Credential())
		why, may := "the writer is not a replica", false
		if replica != "" {
			lease := fmt.Sprintf("%s-shard-%v", name, part)
			if why, may = history.mayWrite(lease, replica, write.Received); !may {
				_, may = history.mayWrite(lease, replica, write.Received.Add(-onTheWay(write.Received)))
			}
		}
		if !may {
			violations = append(violations, faults.Violation{Invariant: "I6", Object: write.ObjectRef.Name,
				What: fmt.Sprintf("%v at %s by %s, which did not hold the Lease of shard %v: %s. %s. What limits the effect: %s", write,
					Clock(write.Received), replica, part, why, tell(write.Credential(), write.Received), boundOf(write))})
		}
	}
	return len(l.writes), violations
}
