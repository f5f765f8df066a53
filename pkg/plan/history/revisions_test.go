package history_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

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
	// Another template is stored under the hash of this one: the content decides.
	impostor := Versions("b")[0]
	impostor.Labels[v1.LabelRevision] = RevisionFor(m).Hash
	o.Revisions = []*appsv1.ControllerRevision{impostor}
	found = history.Find(o.Sources())
	if stores, _ := found.ToStore(false); len(stores) != 1 || stores[0].Exists || found.Update.Hash == impostor.Labels[v1.LabelRevision] {
		t.Error("a revision with the same hash and another template is taken for this one")
	}
}
