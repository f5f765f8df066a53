package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// versions returns stored revisions with these images, numbered from 1.
func versions(images ...string) []*appsv1.ControllerRevision {
	var list []*appsv1.ControllerRevision
	for i, name := range images {
		list = append(list, Stored(Manager(0, Image(name)), int64(i+1)))
	}
	return list
}

// whole replaces spec.image by the equivalent full template.
func whole(m *v1.PodManager) {
	m.Spec.Template = history.Template(&m.Spec).DeepCopy()
	m.Spec.Image = ""
}

// templateIn returns the template that is stored in a revision.
func templateIn(stored *appsv1.ControllerRevision) (template corev1.PodTemplateSpec, err error) {
	err = json.Unmarshal(stored.Data.Raw, &template)
	return template, err
}

func TestStore(t *testing.T) {
	restartOfA := Stored(Manager(0, Image("a"), restartAt("2026-11-15T12:00:00Z")), 2)
	tests := map[string]struct {
		manager   *v1.PodManager
		revisions []*appsv1.ControllerRevision
		// number is the number of the revision to be stored, 0 for none.
		number int64
		exists bool
		cause  string
	}{
		"the first template":               {manager: Manager(3), number: 1},
		"a new template":                   {manager: Manager(3, Image("b")), revisions: versions("a"), number: 2},
		"numbers go on after a gap":        {manager: Manager(3, Image("d")), revisions: versions("a", "b", "c")[2:], number: 4},
		"a template that is stored":        {manager: Manager(3, Image("b")), revisions: versions("a", "b")},
		"an old template put back":         {manager: Manager(3, Image("a")), revisions: versions("a", "b"), number: 3, exists: true},
		"another number of pods":           {manager: Manager(9, Image("a")), revisions: versions("a")},
		"settings outside of the template": {manager: Manager(3, Image("a"), complete, Paused, Limits("1", "1")), revisions: versions("a")},
		"a restart":                        {manager: Manager(3, Image("a"), restartAt("2026-11-15T12:00:00Z")), revisions: versions("a"), number: 2},
		"a restart that is taken back":     {manager: Manager(3, Image("a")), revisions: []*appsv1.ControllerRevision{versions("a")[0], restartOfA}, number: 3, exists: true},
		"a restart that was carried out":   {manager: Manager(3, Image("a"), restartAt("2026-11-15T13:00:00+01:00")), revisions: []*appsv1.ControllerRevision{versions("a")[0], restartOfA}},
		"a cause is copied":                {manager: Manager(3, Because("CVE")), number: 1, cause: "CVE"},
		"another cause is copied, too":     {manager: Manager(3, Image("a"), Because("CVE")), revisions: versions("a"), number: 1, exists: true, cause: "CVE"},
		"with an old template put back":    {manager: Manager(3, Image("a"), Because("undo")), revisions: versions("a", "b"), number: 3, exists: true, cause: "undo"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observe(test.manager)
			o.Revisions = test.revisions
			stores := Make(o).Store
			if len(stores) == 0 {
				if test.number != 0 {
					t.Fatalf("nothing is stored, want number %d", test.number)
				}
				return
			}
			store, got := stores[0], stores[0].Revision
			if got.Revision != test.number || store.Exists != test.exists || got.Annotations[v1.AnnotationChangeCause] != test.cause {
				t.Errorf("stores number %d, exists %v, cause %q; want %d, %v, %q", got.Revision, store.Exists,
					got.Annotations[v1.AnnotationChangeCause], test.number, test.exists, test.cause)
			}
			if !metav1.IsControlledBy(got, test.manager) || got.Namespace != "ns" || got.Name != "web-"+got.Labels[v1.LabelRevision] || got.Labels[v1.LabelManager] != "web" {
				t.Errorf("stores %+v", got.ObjectMeta)
			}
		})
	}
}

// The first revision is stored when it is first needed, and does not delay the pods of a new object.
func TestFirstRevision(t *testing.T) {
	fresh := func(m *v1.PodManager, pods ...*corev1.Pod) Observed {
		o := Observe(m, pods...)
		o.Revisions = nil
		m.Status = v1.PodManagerStatus{}
		return o
	}
	remembering := func(o Observed, image string) Observed {
		before := fresh(Manager(1), o.Pods...)
		before.Manager.Spec.Image = image
		o.Remembered = Make(before).Remember
		return o
	}
	young := ReadyFor(10 * time.Second)
	tests := map[string]struct {
		observed Observed
		want     []string // the images of the revisions to be stored
	}{
		"a new object":                    {observed: fresh(Manager(2, Image("a")))},
		"once its pods are available":     {observed: fresh(Manager(1, Image("a")), Pod(0, OfImage("a"), young)), want: []string{"a"}},
		"not while a pod is not ready":    {observed: fresh(Manager(2, Image("a")), Pod(0, OfImage("a")), Pod(1, OfImage("a"), NotReady))},
		"the template has changed before": {observed: remembering(fresh(Manager(1, Image("b")), Pod(0, OfImage("a"), young)), "a"), want: []string{"a", "b"}},
		"no pod was made from the first":  {observed: remembering(fresh(Manager(1, Image("b"))), "a")},
		"it is forgotten":                 {observed: fresh(Manager(1, Image("b")), Pod(0, OfImage("a"), young)), want: []string{"b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			plan := Make(test.observed)
			for i, store := range plan.Store {
				template, err := templateIn(store.Revision)
				if err != nil || store.Revision.Revision != int64(i+1) {
					t.Fatalf("stores %+v: %v", store.Revision, err)
				}
				got = append(got, template.Spec.Containers[0].Image)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("stores %v, want %v", got, test.want)
			}
			if at := len(plan.Remember) - 1; at < 0 || plan.Remember[at] != plan.Revisions.Update {
				t.Error("the new revision is not remembered")
			}
		})
	}
}

// Pods that were created before a collision of their revision's name was found keep their hash, and are not replaced.
func TestCollisionKeepsPods(t *testing.T) {
	m := Manager(1, Image("a"))
	o := Observe(m, Pod(0, OfImage("a")))
	o.Revisions, m.Status = nil, v1.PodManagerStatus{CollisionCount: 1}
	plan := Make(o)
	if len(plan.Delete)+len(plan.Create) > 0 || len(plan.Store) != 1 || plan.Store[0].Revision.Name == "web-"+o.Pods[0].Labels[v1.LabelRevision] {
		t.Errorf("plans %v", ActionsOf(plan))
	}
}

func TestStoreLeavesTheCacheAlone(t *testing.T) {
	o := Observe(Manager(3, Image("a"), Because("undo")))
	o.Revisions = versions("a", "b")
	Make(o)
	if first := o.Revisions[0]; first.Revision != 1 || first.Annotations != nil {
		t.Errorf("the observed revision was changed: number %d, annotations %v", first.Revision, first.Annotations)
	}
}

func TestRevisionNames(t *testing.T) {
	name := func(change ...func(*v1.PodManager)) string { return RevisionFor(Manager(3, change...)).Name }
	collided := func(m *v1.PodManager) { m.Status.CollisionCount = 1 }
	if name(Image("a")) == name(Image("b")) {
		t.Error("the name does not follow the template")
	}
	if name(Image("a")) != name(Image("a"), whole) {
		t.Error("the short form and the same template in full have different names: switching would replace all pods")
	}
	if name() == name(collided) {
		t.Error("a collision does not lead to another name")
	}
	if label := RevisionFor(Manager(3)).Hash; strings.ToLower(label) != label || len(label) > 10 {
		t.Errorf("hash %q", label)
	}
}

// Revisions that were stored before a collision keep their names, although the collision count would now produce others.
func TestCollisionKeepsOldRevisions(t *testing.T) {
	m := Manager(3, Image("a"))
	o := Observe(m, Pod(0, OfImage("a")))
	o.Revisions = versions("a")
	m.Status.CollisionCount = 2
	plan := Make(o)
	if len(plan.Store) != 0 || plan.Revisions.Update.Name != o.Revisions[0].Name {
		t.Errorf("stores %v, uses %s; want %s as it is", plan.Store, plan.Revisions.Update.Name, o.Revisions[0].Name)
	}
	// Another template is stored under the hash of this one: the content decides.
	impostor := versions("b")[0]
	impostor.Labels[v1.LabelRevision] = RevisionFor(m).Hash
	o.Revisions = []*appsv1.ControllerRevision{impostor}
	if plan := Make(o); len(plan.Store) != 1 || plan.Store[0].Exists || plan.Revisions.Update.Hash == impostor.Labels[v1.LabelRevision] {
		t.Error("a revision with the same hash and another template is taken for this one")
	}
}

func TestIsSame(t *testing.T) {
	a, b := versions("a")[0], versions("a")[0]
	b.Data.Raw = []byte(`{"spec": {"containers": [{"resources": {}, "image": "a", "name": "app"}]}, "metadata": {}}`)
	if !history.HaveSameTemplate(a, b) {
		t.Error("the same template in another notation is not recognised")
	}
	if history.HaveSameTemplate(a, versions("b")[0]) {
		t.Error("another template is taken for the same")
	}
	b.Data.Raw = []byte("nonsense")
	if history.HaveSameTemplate(a, b) || history.HaveSameTemplate(b, a) {
		t.Error("nonsense is taken for the same")
	}
}

func TestRevisionHistory(t *testing.T) {
	images := []string{"a", "b", "c", "d", "e"}
	kept := func(limit int32) func(*v1.PodManager) {
		return func(m *v1.PodManager) { m.Spec.RevisionHistoryLimit = ptr.To(limit) }
	}
	tests := map[string]struct {
		manager *v1.PodManager
		pods    []*corev1.Pod
		orphans []*corev1.Pod
		current string
		want    []string
	}{
		"the default keeps ten":                           {manager: Manager(1, Image("e"))},
		"the oldest go":                                   {manager: Manager(1, Image("e"), kept(2)), want: []string{"a", "b"}},
		"limit 0 keeps only revisions in use":             {manager: Manager(1, Image("e"), kept(0)), want: []string{"a", "b", "c", "d"}},
		"the new revision stays":                          {manager: Manager(1, Image("a"), kept(0)), want: []string{"b", "c", "d", "e"}},
		"the current revision stays":                      {manager: Manager(1, Image("e"), kept(0)), current: "b", want: []string{"a", "c", "d"}},
		"the revision of a terminating pod stays":         {manager: Manager(1, Image("e"), kept(0)), pods: []*corev1.Pod{Pod(0, OfImage("a"), Terminating)}, want: []string{"b", "c", "d"}},
		"the revision of an orphan stays":                 {manager: Manager(1, Image("e"), kept(0)), orphans: []*corev1.Pod{Pod(0, OfImage("c"), Orphaned)}, want: []string{"a", "b", "d"}},
		"revisions in use do not count against the limit": {manager: Manager(1, Image("e"), kept(1)), current: "b", pods: []*corev1.Pod{Pod(0, OfImage("c"))}, want: []string{"a"}},
		"a deleted PodManager drops none":                 {manager: Manager(1, Image("e"), kept(0), Deleting)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observe(test.manager, test.pods...)
			o.Orphans, o.Revisions = test.orphans, versions(images...)
			test.manager.Status.CurrentRevision = ""
			if test.current != "" {
				test.manager.Status.CurrentRevision = versions(test.current)[0].Name
			}
			var got []string
			for _, dropped := range Make(o).Drop {
				template, err := templateIn(dropped)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, template.Spec.Containers[0].Image)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("drops %v, want %v", got, test.want)
			}
		})
	}
}

// A current revision that is lost or cannot be read does not stop a rollout.
func TestLostAndBrokenRevisions(t *testing.T) {
	m := Next(1, Limits("0", "1"))
	o := RollingOut(m, Pod(0))
	o.Revisions[0].Data.Raw = []byte("nonsense")
	if got := ActionsOf(Make(o)); got != "+1 new, -0" {
		t.Errorf("with a last good revision that cannot be read: %q", got)
	}
	o.Revisions = o.Revisions[1:]
	if got := ActionsOf(Make(o)); got != "+1 new, -0" {
		t.Errorf("with a last good revision that is lost: %q", got)
	}
}

// A remembered revision that was stored has no encoded data. Storing it again has to encode its template.
func TestRememberedRevisionIsEncoded(t *testing.T) {
	o := RollingOut(Next(3), Pods3()...)
	o.Remembered = Make(o).Remember
	o.Manager.Spec.Image = "nginx"
	o.Revisions = nil
	for _, store := range Make(o).Store {
		if len(store.Revision.Data.Raw) == 0 {
			t.Errorf("%s is stored without its template", store.Revision.Name)
		}
	}
}
