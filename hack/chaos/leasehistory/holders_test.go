package leasehistory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// mayWrite finds which replica held a Lease at a time.
func TestMayWrite(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(second float64) time.Time { return began.Add(time.Duration(second * float64(time.Second))) }
	h := &History{versions: map[string][]leaseVersion{}, forced: map[string]bool{"4": true, "5": true}}
	for i, v := range []struct {
		holder            string
		acquired, renewed float64
	}{
		{"a", 1, 1}, {"a", 1, 3}, // expires at 9
		{"b", 10, 10}, {"thief", 11, 11}, {"c", 12, 12}, // the last two by force
		{"c", 20, 20}, {"", 22, 22}, {"a", 21.9, 21.9}, // a recorded the time before c released the Lease
		{"", 24, 24}, {"b", 27, 27},
	} {
		h.add(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "s-shard-0", ResourceVersion: fmt.Sprint(i + 1)}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &v.holder, LeaseDurationSeconds: ptr.To[int32](6),
			AcquireTime: &metav1.MicroTime{Time: at(v.acquired)}, RenewTime: &metav1.MicroTime{Time: at(v.renewed)},
		}})
	}
	tests := map[string]struct {
		second  float64
		replica string
		why     string
	}{
		"before the first":        {0.9, "a", "no replica held the Lease yet"},
		"from the first on":       {1.1, "a", ""},
		"between renewals":        {2.9, "a", ""},
		"another replica":         {2.9, "b", "a had taken it"},
		"until it runs out":       {8.9, "a", ""},
		"after it has run out":    {9.1, "a", "had run out at"},
		"the next one":            {10.1, "b", ""},
		"the last one":            {10.1, "a", "b had taken it"},
		"not noticed yet":         {13.9, "b", ""},
		"not noticed for long":    {14.1, "b", "overwritten by force"},
		"who has not really come": {13, "c", "b had taken it"},
		"who came in the end":     {20.1, "c", ""},
		"before the release":      {21.95, "c", ""},
		"after the release":       {22.1, "c", "a had taken it"},
		"who noted it too early":  {22.1, "a", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			why, may := h.mayWrite("s-shard-0", test.replica, at(test.second))
			if may != (test.why == "") || !strings.Contains(why, test.why) {
				t.Errorf("may write: %v, %q; want %q", may, why, test.why)
			}
		})
	}
	if got := h.Handovers("s-shard-"); got != 5 {
		t.Errorf("%d handovers, want 5: a, b, c, a, b", got)
	}
	var gaps []time.Duration
	for _, gap := range h.Gaps("s-shard-") {
		gaps = append(gaps, gap.To.Sub(gap.From))
	}
	if !slices.Equal(gaps, []time.Duration{0, 3 * time.Second}) {
		t.Errorf("gaps of %v, want none after c, and 3 s after a", gaps)
	}
}
