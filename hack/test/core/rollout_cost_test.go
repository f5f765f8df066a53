//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
)

// The cost of a rollout of 100 pods: one create and one delete for each pod, one revision, and one status write for about ten pods.
func TestRolloutCost(t *testing.T) {
	const replicas = 100
	s := newSerialSpace(t)
	s.releaseAtEnd()
	c := newCost(s)
	spec := func(image, more string) string {
		return fmt.Sprintf("{replicas: %d, image: %q%s}", replicas, image, more)
	}
	c.applyPrivate("web", spec("nginx:1", ""))
	c.awaitReady("web", replicas)
	c.awaitQuiet()

	table := &strings.Builder{}
	c.table = tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(c.table, "100 pods\tsyncs that did anything\tall syncs\tstatus writes\tall writes")
	c.measureRollout("by replacement", replicas, map[string]int{"create pods": replicas, "delete pods": replicas, "create controllerrevisions": 1,
		"update controllerrevisions": 1 /* marks it as good */, "update podmanagers/status": 5 + replicas/10},
		func() { c.applyPrivate("web", spec("nginx:2", "")) })
	c.measureRollout("another setting", replicas, map[string]int{"update podmanagers/status": 2},
		func() { c.applyPrivate("web", spec("nginx:2", ", minReadySeconds: 1")) })
	c.table.Flush()
	t.Logf("What it costs:\n%s", table)
}

// measureRollout adds a line to the table. most has the maximum number of writes of each kind. Events, and writes that a busy API server asked to
// retry, are listed but not limited.
func (c *cost) measureRollout(what string, replicas int, most map[string]int, act func()) {
	c.T.Helper()
	changing, syncs := c.changing(), c.syncs()
	act()
	c.awaitReady("web", replicas)
	writes := c.awaitQuiet()
	fmt.Fprintf(c.table, "%s\t%d\t%d\t%d\t%s\n", what, c.changing()-changing, c.syncs()-syncs, writes["update podmanagers/status"], list(writes))
	for kind, count := range writes {
		if count > most[kind] && !strings.Contains(kind, " events") && !strings.HasSuffix(kind, "(429)") {
			c.T.Errorf("%s: %d %s, want at most %d", what, count, kind, most[kind])
		}
	}
	for _, kind := range []string{"create pods", "delete pods", "update podmanagers/status"} {
		if writes[kind] == 0 && most[kind] > 0 {
			c.T.Errorf("%s: there is no %s in the audit log", what, kind)
		}
	}
}
