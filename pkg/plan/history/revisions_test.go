package history_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// Revisions that were stored before a collision keep their names, although the collision count would now produce others.
func TestCollisionKeepsOldRevisions(t *testing.T) {
	m := Manager(3, Image("a"))
	o := Observe(m, Pod(0, OfImage("a")))
	o.Revisions = Versions("a")
	m.Status.CollisionCount = 2
	found := history.Find(o.Sources())
	if stores, _ := found.ToStore(false); len(stores) != 0 || found.Update.Name != o.Revisions[0].Name {
		t.Errorf("stores %v, uses %s; want %s as it is", stores, found.Update.Name, o.Revisions[0].Name)
	}
	// A ControllerRevision has the hash of this template, but stores another one. Its content decides, not the hash.
	impostor := Versions("b")[0]
	impostor.Name, impostor.Labels[v1.LabelRevision] = RevisionFor(m).Name, RevisionFor(m).Hash
	o.Revisions = []*appsv1.ControllerRevision{impostor}
	found = history.Find(o.Sources())
	if stores, _ := found.ToStore(false); len(stores) != 1 || stores[0].Exists || found.Update.Hash == impostor.Labels[v1.LabelRevision] {
		t.Error("a revision with the same hash and another template is taken for this one")
	}
}

// The current revision is the one that the status names. If the status is lost, the marks decide.
func TestCurrentRevision(t *testing.T) {
	goodFor := func(ago time.Duration) map[string]string {
		return map[string]string{v1.AnnotationGood: Now.Add(-ago).UTC().Format(time.RFC3339)}
	}
	marked := func(annotations ...map[string]string) []*appsv1.ControllerRevision {
		all := Versions("a", "b", "c")
		for i := range annotations {
			all[i].Annotations = annotations[i]
		}
		return all
	}
	broken := Versions("a", "b", "c")
	broken[0].Data.Raw = []byte("nonsense")
	tests := map[string]struct {
		stored     []*appsv1.ControllerRevision
		remembered bool
		// status is the image of the revision that the status names.
		status string
		want   string // an image
	}{
		"there was none":                             {stored: Versions("a", "b", "c")},
		"named in the status":                        {stored: Versions("a", "b", "c"), status: "a", want: "a"},
		"named, whatever the marks":                  {stored: marked(nil, goodFor(time.Minute)), status: "a", want: "a"},
		"the present template":                       {stored: Versions("a", "b", "c"), status: "c", want: "c"},
		"the present template, deleted":              {stored: Versions("a", "b"), status: "c", want: "c"},
		"deleted":                                    {stored: Versions("a", "b", "c")[1:], status: "a"},
		"deleted, and remembered":                    {stored: Versions("a", "b", "c")[1:], remembered: true, status: "a", want: "a"},
		"it cannot be read":                          {stored: broken, status: "a"},
		"the status is lost":                         {stored: marked(goodFor(time.Hour), nil, nil), want: "a"},
		"the status is lost: the last good one":      {stored: marked(goodFor(time.Hour), goodFor(time.Minute)), want: "b"},
		"the status is lost: of two, the newest":     {stored: marked(goodFor(time.Minute), goodFor(time.Minute)), want: "b"},
		"the status is lost: a mark that is no time": {stored: marked(map[string]string{v1.AnnotationGood: "yes"})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Manager(3, Image("c"))
			if test.status != "" {
				m.Status.CurrentRevision = Versions(test.status)[0].Name
			}
			sources := history.Sources{Manager: m, Stored: test.stored}
			if test.remembered {
				_, sources.Remembered = history.Find(history.Sources{Manager: m, Stored: Versions("a", "b", "c")}).ToStore(false)
			}
			got := ""
			if current := history.Find(sources).Current; current != nil {
				got = current.Template().Spec.Containers[0].Image
			}
			if got != test.want {
				t.Errorf("the current revision has image %q, want %q", got, test.want)
			}
		})
	}
}

// Stored revisions with our label that have no owner count like our own.
func TestOrphanedRevisionIsFound(t *testing.T) {
	found := history.Find(history.Sources{Manager: Manager(1, Image("b")), Orphans: Versions("a", "b")})
	if !found.Update.IsStored() || found.WithHash(Versions("a")[0].Labels[v1.LabelRevision]) == nil {
		t.Errorf("the revision of the present template is %+v", found.Update)
	}
}

func TestCount(t *testing.T) {
	m := Manager(3, Image("b"))
	m.Status.CurrentRevision = Versions("a")[0].Name
	pods := []*corev1.Pod{Pod(0, OfImage("a")), Pod(1, OfImage("b")), Pod(2, OfImage("b")), Pod(3, OfImage("lost")), Pod(4, Unlabelled)}
	found := history.Find(history.Sources{Manager: m, Stored: Versions("a"), Pods: pods})
	for name, want := range map[string]int32{Versions("a")[0].Name: 2, found.Update.Name: 2, "web-unknown": 0, "": 0} {
		if got := found.Count(pods, name); got != want {
			t.Errorf("%q has %d pods, want %d: a pod without a revision counts for the current one", name, got, want)
		}
	}
}
