package history_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// hashOf returns the hash of the template with this image.
func hashOf(image string) string { return RevisionFor(Manager(0, Image(image))).Hash }

// Any client may change the labels of a ControllerRevision. Its hash stays the same, and so the pods that carry it are still pods of this revision.
// The label is restored.
func TestHashOfRelabelled(t *testing.T) {
	labelled := func(label string) func(*appsv1.ControllerRevision) {
		return func(r *appsv1.ControllerRevision) { r.Labels[v1.LabelRevision] = label }
	}
	unlabelled := func(r *appsv1.ControllerRevision) { delete(r.Labels, v1.LabelRevision) }
	afterCollision := func(r *appsv1.ControllerRevision) {
		r.Name = RevisionFor(Manager(0, Image("a"), func(m *v1.PodManager) { m.Status.CollisionCount = 1 })).Name
	}
	named := func(name string, label func(*appsv1.ControllerRevision)) func(*appsv1.ControllerRevision) {
		return func(r *appsv1.ControllerRevision) {
			r.Name = name
			label(r)
		}
	}
	tests := map[string]struct {
		change     func(*appsv1.ControllerRevision)
		collisions int32
		want       string
		restored   bool
	}{
		"as it was":                     {change: labelled(hashOf("a")), want: hashOf("a")},
		"the label of another owner":    {change: func(r *appsv1.ControllerRevision) { r.Labels[v1.LabelManager] = "db" }, want: hashOf("a"), restored: true},
		"the label is gone":             {change: unlabelled, want: hashOf("a"), restored: true},
		"the label is another one":      {change: labelled("x"), want: hashOf("a"), restored: true},
		"the label of another revision": {change: labelled(hashOf("b")), want: hashOf("a"), restored: true},
		"the hash before a collision":   {change: afterCollision, collisions: 1, want: hashOf("a")},
		"a collision, the status lost":  {change: afterCollision, want: hashOf("a")},
		"of a PodManager of other name": {change: named("db-5d9c", labelled("5d9c")), want: "5d9c"},
		"the same, and the label gone":  {change: named("db-5d9c", unlabelled), want: hashOf("a"), restored: true},
		"the name is no label":          {change: named("web--", unlabelled), want: hashOf("a"), restored: true},
		"nothing follows in the name":   {change: named("web-", unlabelled), want: hashOf("a"), restored: true},
		"a name that a user has chosen": {change: named("web-first", unlabelled), want: "first", restored: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, image := range []string{"a", "b"} { // the revision is the present template's, and an older one
				stored := Versions("a", "b")
				test.change(stored[0])
				if image == "a" {
					stored = stored[:1]
				}
				m := Manager(1, Image(image))
				m.Status.CollisionCount = test.collisions
				found := history.Find(history.Sources{Manager: m, Stored: stored, Pods: []*corev1.Pod{Pod(0, Labelled(v1.LabelRevision, test.want))}})
				if revision := found.WithHash(test.want); revision == nil || revision.Name != stored[0].Name {
					t.Errorf("image %s: the revision with the hash %s is %+v", image, test.want, revision)
				}
				stores, _ := found.ToStore(true)
				isRestored := len(stores) == 1 && stores[0].Exists && stores[0].Revision.Name == stored[0].Name && stores[0].Revision.Labels[v1.LabelRevision] == test.want
				if isRestored != test.restored || len(stores) > 1 || len(stores) == 1 && !test.restored {
					t.Errorf("image %s: stores %+v, want the label to be restored: %v", image, stores, test.restored)
				}
			}
		})
	}
}

// If another client copies a ControllerRevision under another name, the copy counts for nothing, and goes when there are too many revisions.
func TestCopiedRevision(t *testing.T) {
	m := Manager(1, Image("a"), func(m *v1.PodManager) { m.Spec.RevisionHistoryLimit = new(int32) })
	for _, name := range []string{"a-copy", "web-copy", "zzz"} {
		for _, label := range []string{hashOf("a"), "", "x"} {
			original := Versions("a")[0]
			original.CreationTimestamp = metav1.NewTime(Now.Add(-time.Hour))
			copied := original.DeepCopy()
			copied.Name, copied.CreationTimestamp = name, metav1.NewTime(Now)
			if copied.Labels = maps.Clone(copied.Labels); label == "" {
				delete(copied.Labels, v1.LabelRevision)
			} else {
				copied.Labels[v1.LabelRevision] = label
			}
			m.Status.CurrentRevision = original.Name
			for _, collisions := range []int32{0, 2} {
				m.Status.CollisionCount = collisions
				for _, stored := range [][]*appsv1.ControllerRevision{{original, copied}, {copied, original}} {
					found := history.Find(history.Sources{Manager: m, Stored: stored, Pods: []*corev1.Pod{Pod(0, OfImage("a"))}})
					if found.Update.Name != original.Name || found.Current != found.Update {
						t.Errorf("copied as %s with the label %q: the revision is %s, the current one %+v", name, label, found.Update.Name, found.Current)
					}
					if dropped := found.BeyondLimit(); len(dropped) != 1 || !slices.Contains(dropped, copied) {
						t.Errorf("copied as %s with the label %q: drops %d revisions", name, label, len(dropped))
					}
				}
			}
		}
	}
}
