package syncstate

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each sync reads the marked names. A name that is in use is read again less and less often, unless it is marked.
func TestNames(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var n Names
	want := func(when string, unsettled, outside []string, next time.Duration) {
		t.Helper()
		if got := n.Unsettled(now); !slices.Equal(got, unsettled) {
			t.Errorf("%s: to be read are %v, want %v", when, got, unsettled)
		}
		var names []string
		for _, pod := range n.Outside() {
			names = append(names, pod.Name)
		}
		if !slices.Equal(names, outside) {
			t.Errorf("%s: outside the cache are %v, want %v", when, names, outside)
		}
		if got := n.NextRecheck(); got.Never() != (next == 0) || next > 0 && !got.At.Equal(now.Add(next)) {
			t.Errorf("%s: the next read is at %v, want after %v", when, got.At, next)
		}
	}
	pod := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	want("nothing is known", nil, nil, 0)
	n.MarkUnsettled("web-1")
	n.MarkUnsettled("web-0")
	n.MarkUnsettled("web-1")
	want("two names are marked", []string{"web-0", "web-1"}, nil, 5*time.Second)

	n.Settle("web-0", pod("web-0"), now)
	n.Settle("web-1", nil, now)
	want("one is in use", nil, []string{"web-0"}, 5*time.Second)
	now = now.Add(5 * time.Second)
	want("after 5 s", []string{"web-0"}, []string{"web-0"}, 10*time.Second)
	for range 20 {
		now = now.Add(maxRecheck)
		n.Unsettled(now)
	}
	want("after hours", nil, []string{"web-0"}, maxRecheck)

	n.MarkUnsettled("web-0")
	n.Settle("web-0", nil, now)
	want("it is marked during the read that finds it free", []string{"web-0"}, []string{"web-0"}, maxRecheck)
	n.Settle("web-0", nil, now)
	want("it is free", nil, nil, 0)

	n.Settle("web-2", pod("web-2"), now)
	want("a create has found a name in use", nil, []string{"web-2"}, 5*time.Second)
}
