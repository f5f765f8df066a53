package workloads

import (
	"strings"
	"testing"
)

func TestParseCounters(t *testing.T) {
	const metrics = "# HELP x\npodmanager_reconcile_duration_seconds_bucket{le=\"1\"} 5\npodmanager_reconcile_duration_seconds_sum 1.5\n" +
		"podmanager_reconcile_duration_seconds_count 10\n"
	found, err := parseCounters(strings.NewReader(metrics + "podmanager_live_reads_total 3\n"))
	if err != nil || found[syncHistogram+"_sum"] != 1.5 || found[syncHistogram+"_count"] != 10 || found[liveReadsCounter] != 3 || len(found) != 3 {
		t.Fatalf("got %v, %v", found, err)
	}
	if _, err := parseCounters(strings.NewReader(metrics)); err == nil {
		t.Error("no error although a metric is missing")
	}
	if got := sumOf("lost_total", "# HELP lost_total x\nlost_total{a=\"b c\"} 2\nlost_total{a=\"d\"} 3\nlost_total_other{} 5\n"); got != 5 {
		t.Errorf("the sum is %v", got)
	}
}
