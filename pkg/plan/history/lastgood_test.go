package history_test

import (
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// If the status is lost, the current revision is the one that was good last. Of two that were marked in the same second, it is the newer one.
func TestLastGood(t *testing.T) {
	const early, late = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
	for name, test := range map[string]struct {
		since []string
		want  int
	}{
		"none":                             {since: []string{"", ""}, want: -1},
		"the later one":                    {since: []string{late, early}, want: 0},
		"the later one, which is newer":    {since: []string{early, late}, want: 1},
		"both in the same second":          {since: []string{early, early, early}, want: 2},
		"not one that was never good":      {since: []string{early, ""}, want: 0},
		"nor one whose mark is not a time": {since: []string{early, "yesterday"}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // maps have no order
				var stored []*appsv1.ControllerRevision
				for i, since := range test.since {
					revision := Stored(Manager(0, Image("v"+strconv.Itoa(i))), int64(i+1))
					revision.Annotations = map[string]string{v1.AnnotationGood: since}
					stored = append(stored, revision)
				}
				got, want := history.Find(history.Sources{Manager: Manager(3), Stored: stored}).Current, ""
				if test.want >= 0 {
					want = stored[test.want].Name
				}
				if got == nil && want != "" || got != nil && got.Name != want {
					t.Fatalf("current %v, want %q", got, want)
				}
			}
		})
	}
}
