//go:build e2e

package core

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// The cost of an operation: the controller's writes, from the API server's audit log, and the syncs that did anything. Events are listed but not
// limited, because one event reports all pods of a batch.
func TestCost(t *testing.T) {
	c := newCost(newSerialSpace(t))
	c.applyPrivate("web", "{replicas: 3, image: nginx}")
	c.awaitReady("web", 3)
	c.awaitQuiet()
	if c.changing() == 0 {
		t.Fatal(`podmanager_reconcile_total{result="changed"} does not count`)
	}
	table := &strings.Builder{}
	c.table = tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(c.table, "operation\tsyncs that did anything\tall syncs\tstatus writes\tall writes")
	scale := func(replicas string) func() {
		return func() { c.Kubectl("scale", "pm/web", "--replicas="+replicas) }
	}
	c.measure("3 -> 1 replicas", 3, scale("1"), 1)
	c.measure("1 -> 3 replicas", 3, scale("3"), 3)
	c.measure("3 -> 4 replicas", 3, scale("4"), 4)
	c.measure("4 -> 0 replicas", 3, scale("0"), 0)
	c.measure("0 -> 3 replicas", 3, scale("3"), 3)
	c.measure("one pod deleted", 3, c.deleteOne, 3)
	c.table.Flush()
	t.Logf("What it costs:\n%s", table)
}

// cost measures the writes and syncs of a controller.
type cost struct {
	*space
	log        *audit.Log
	controller *lab.Process
	table      *tabwriter.Writer
}

// newCost starts a controller, and reads the audit log from now on.
func newCost(s *space) *cost {
	s.T.Helper()
	return &cost{space: s, log: s.openAudit(), controller: s.private()}
}

// changing returns how many syncs have changed anything.
func (c *cost) changing() int {
	return int(metric(c.T, c.controller, "podmanager_reconcile_total", `result="changed"`))
}

func (c *cost) syncs() int {
	return int(metric(c.T, c.controller, "podmanager_reconcile_total", ""))
}

// measure runs an operation, waits until there are this many pods, and adds the cost of the operation to the table. It fails the test if more than
// most syncs, apart from those due to a slow machine, have changed anything.
func (c *cost) measure(operation string, most int, act func(), pods int) {
	c.T.Helper()
	changing, syncs, generation := c.changing(), c.syncs(), c.Manager("web").Generation
	began := time.Now()
	act()
	c.awaitReady("web", pods)
	// While pods start, the controller writes the counts once a second. These writes are due to a slow machine, not to the operation.
	slow := int(time.Since(began) / time.Second)
	most, mostStatuses := most+slow, 2+slow
	writes := c.awaitQuiet()
	changing, syncs = c.changing()-changing, c.syncs()-syncs
	statuses := writes["update podmanagers/status"] + writes["patch podmanagers/status"]
	fmt.Fprintf(c.table, "%s\t%d (at most %d)\t%d\t%d (at most %d)\t%s\n", operation, changing, most, syncs, statuses, mostStatuses, list(writes))
	if changing > most || changing == 0 {
		c.T.Errorf("%s: %d syncs did anything, want 1 to %d", operation, changing, most)
	}
	// If a pod is replaced under the same name before the next status is due, the status does not change.
	if statuses > mostStatuses || (statuses == 0 && c.Manager("web").Generation != generation) {
		c.T.Errorf("%s: %d status writes, want 1 to %d", operation, statuses, mostStatuses)
	}
}

func (c *cost) deleteOne() {
	c.T.Helper()
	pod := c.Pods()[1]
	c.Kubectl("delete", "pod", pod.Name, "--wait=false")
	c.Await("the deleted pod to be replaced", func() (any, bool) {
		now := c.Pods()
		return podNames(now), len(now) == 3 && !slices.Contains(slices.Collect(maps.Values(uids(now))), pod.UID)
	})
}

// list formats writes as "2 create pods, 1 update podmanagers/status".
func list(writes map[string]int) string {
	parts := []string{}
	for _, what := range slices.Sorted(maps.Keys(writes)) {
		parts = append(parts, fmt.Sprintf("%d %s", writes[what], what))
	}
	return strings.Join(parts, ", ")
}

// openAudit opens the API server's audit log at its end.
func (s *space) openAudit() *audit.Log {
	s.T.Helper()
	log, err := audit.Open(os.Getenv("PODMANAGER_AUDIT_LOG"))
	if err != nil {
		s.T.Fatalf("PODMANAGER_AUDIT_LOG must name the audit log; make e2e sees to that: %v", err)
	}
	s.T.Cleanup(func() { _ = log.Close() })
	return log
}

// awaitQuiet waits until the controller has been idle and has written nothing in the namespace for two seconds. It returns the number of writes of
// each kind since the last call.
func (c *cost) awaitQuiet() map[string]int {
	c.T.Helper()
	writes := map[string]int{}
	last := time.Now()
	c.Await("the controller to be quiet", func() (any, bool) {
		fresh := c.writesIn(c.log)
		// On a slow machine two seconds may pass in the middle of a sync.
		if len(fresh) > 0 || metric(c.T, c.controller, "workqueue_depth", "")+metric(c.T, c.controller, "workqueue_unfinished_work_seconds", "") > 0 {
			last = time.Now()
		}
		for _, what := range fresh {
			writes[what]++
		}
		return writes, time.Since(last) > 2*time.Second
	})
	return writes
}

// writesIn reads the log to its end. A write that failed is followed by its status code: "create pods (409)".
func (s *space) writesIn(log *audit.Log) []string {
	s.T.Helper()
	requests, err := log.Read(s.Name)
	if err != nil {
		s.T.Fatal(err)
	}
	var writes []string
	for _, r := range requests {
		if !r.IsWrite() || r.ObjectRef.Namespace != s.Name || !strings.HasPrefix(r.UserAgent, "podmanager-controller/") {
			continue
		}
		write := r.What()
		if !r.Succeeded() {
			write += fmt.Sprintf(" (%d)", r.ResponseStatus.Code)
		}
		writes = append(writes, write)
	}
	return writes
}
