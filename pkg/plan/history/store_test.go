package history_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// templateIn returns the template that is stored in a revision.
func templateIn(stored *appsv1.ControllerRevision) (template corev1.PodTemplateSpec, err error) {
	err = json.Unmarshal(stored.Data.Raw, &template)
	return template, err
}

func TestStore(t *testing.T) {
	restartOfA := Stored(Manager(0, Image("a"), RestartAt("2026-11-15T12:00:00Z")), 2)
	tests := map[string]struct {
		manager   *v1.PodManager
		revisions []*appsv1.ControllerRevision
		// number is the number of the revision to be stored, 0 for none.
		number int64
		exists bool
		cause  string
	}{
		"the first template":               {manager: Manager(3), number: 1},
		"a new template":                   {manager: Manager(3, Image("b")), revisions: Versions("a"), number: 2},
		"numbers go on after a gap":        {manager: Manager(3, Image("d")), revisions: Versions("a", "b", "c")[2:], number: 4},
		"a template that is stored":        {manager: Manager(3, Image("b")), revisions: Versions("a", "b")},
		"an old template put back":         {manager: Manager(3, Image("a")), revisions: Versions("a", "b"), number: 3, exists: true},
		"another number of pods":           {manager: Manager(9, Image("a")), revisions: Versions("a")},
		"settings outside of the template": {manager: Manager(3, Image("a"), TerminationComplete, Paused, Limits("1", "1")), revisions: Versions("a")},
		"a restart":                        {manager: Manager(3, Image("a"), RestartAt("2026-11-15T12:00:00Z")), revisions: Versions("a"), number: 2},
		"a restart that is taken back":     {manager: Manager(3, Image("a")), revisions: []*appsv1.ControllerRevision{Versions("a")[0], restartOfA}, number: 3, exists: true},
		"a restart that was carried out":   {manager: Manager(3, Image("a"), RestartAt("2026-11-15T13:00:00+01:00")), revisions: []*appsv1.ControllerRevision{Versions("a")[0], restartOfA}},
		"a cause is copied":                {manager: Manager(3, Because("CVE")), number: 1, cause: "CVE"},
		"another cause is copied, too":     {manager: Manager(3, Image("a"), Because("CVE")), revisions: Versions("a"), number: 1, exists: true, cause: "CVE"},
		"with an old template put back":    {manager: Manager(3, Image("a"), Because("undo")), revisions: Versions("a", "b"), number: 3, exists: true, cause: "undo"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observe(test.manager)
			o.Revisions = test.revisions
			stores, _ := history.Find(o.Sources()).ToStore(false)
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

// A revision that is in use again loses its marks, except the last good one, which stays good even if only its mark says so.
func TestStoreKeepsTheLastGood(t *testing.T) {
	for name, test := range map[string]struct {
		image   string
		current bool // whether the status names the last good revision, "b"
		want    bool
	}{
		"the last good one":                         {image: "b", current: true, want: true},
		"the last good one, and the status is lost": {image: "b", want: true},
		"an older good one":                         {image: "a", current: true},
		"an older good one, and the status is lost": {image: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observe(Manager(3, Image(test.image)))
			o.Revisions = Versions("a", "b", "c")
			for i, ago := range []time.Duration{2 * time.Hour, time.Hour} {
				o.Revisions[i].Annotations = map[string]string{v1.AnnotationGood: Now.Add(-ago).UTC().Format(time.RFC3339), v1.AnnotationFailed: "true"}
			}
			if o.Manager.Status.CurrentRevision = ""; test.current {
				o.Manager.Status.CurrentRevision = o.Revisions[1].Name
			}
			stores, _ := history.Find(o.Sources()).ToStore(false)
			marks := stores[0].Revision.Annotations
			if isGood := marks[v1.AnnotationGood] != ""; isGood != test.want || marks[v1.AnnotationFailed] != "" {
				t.Errorf("is marked with %v, want good: %v", marks, test.want)
			}
		})
	}
}

func TestStoreLeavesTheCacheAlone(t *testing.T) {
	o := Observe(Manager(3, Image("a"), Because("undo")))
	o.Revisions = Versions("a", "b")
	found := history.Find(o.Sources())
	found.ToStore(false)
	found.ToMark(true, Now)
	if first := o.Revisions[0]; first.Revision != 1 || first.Annotations != nil {
		t.Errorf("the observed revision was changed: number %d, annotations %v", first.Revision, first.Annotations)
	}
}

func TestIsSame(t *testing.T) {
	a, b := Versions("a")[0], Versions("a")[0]
	b.Data.Raw = []byte(`{"spec": {"containers": [{"resources": {}, "image": "a", "name": "app"}]}, "metadata": {}}`)
	if !history.HaveSameTemplate(a, b) {
		t.Error("the same template in another notation is not recognised")
	}
	if history.HaveSameTemplate(a, Versions("b")[0]) {
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
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observe(test.manager, test.pods...)
			o.Orphans, o.Revisions = test.orphans, Versions(images...)
			test.manager.Status.CurrentRevision = ""
			if test.current != "" {
				test.manager.Status.CurrentRevision = Versions(test.current)[0].Name
			}
			var got []string
			for _, dropped := range history.Find(o.Sources()).BeyondLimit() {
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

// A remembered revision that was stored has no encoded data. Storing it again has to encode its template.
func TestRememberedRevisionIsEncoded(t *testing.T) {
	o := RollingOut(Next(3), Pods3()...)
	_, o.Remembered = history.Find(o.Sources()).ToStore(false)
	o.Manager.Spec.Image = "nginx"
	o.Revisions = nil
	stores, _ := history.Find(o.Sources()).ToStore(false)
	if len(stores) == 0 {
		t.Error("nothing is stored")
	}
	for _, store := range stores {
		if len(store.Revision.Data.Raw) == 0 {
			t.Errorf("%s is stored without its template", store.Revision.Name)
		}
	}
}

// The marks say which revisions have failed and which one was good. A revision that is marked as it should be is not written again.
func TestToMark(t *testing.T) {
	good := map[string]string{v1.AnnotationGood: Now.UTC().Format(time.RFC3339)}
	failed := map[string]string{v1.AnnotationFailed: "true"}
	both := map[string]string{v1.AnnotationGood: good[v1.AnnotationGood], v1.AnnotationFailed: "true"}
	other := map[string]string{v1.AnnotationChangeCause: "CVE", v1.AnnotationFailed: "true"}
	tests := map[string]struct {
		// a and b are the annotations of the two stored revisions, b is the present template's.
		a, b      map[string]string
		current   string // an image
		hasFailed bool
		unstored  bool
		// wantA and wantB are the annotations that are written, nil for none.
		wantA, wantB map[string]string
	}{
		"under way":                               {a: good, current: "a"},
		"the good one is marked":                  {current: "a", wantA: good},
		"the present one has failed":              {a: good, current: "a", hasFailed: true, wantB: failed},
		"it is marked already":                    {a: good, b: failed, current: "a", hasFailed: true},
		"it has recovered":                        {a: good, b: failed, current: "a", wantB: map[string]string{}},
		"it has become good":                      {a: good, b: failed, current: "b", wantB: good},
		"the good one is never failed":            {b: both, current: "b", hasFailed: true, wantB: good},
		"an old one that has failed stays so":     {a: both, current: "a"},
		"other annotations stay":                  {a: good, b: other, current: "a", wantB: map[string]string{v1.AnnotationChangeCause: "CVE"}},
		"what is not stored yet cannot be marked": {a: good, current: "a", hasFailed: true, unstored: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stored := Versions("a", "b")
			stored[0].Annotations, stored[1].Annotations = test.a, test.b
			m := Manager(3, Image("b"))
			m.Status.CurrentRevision = Versions(test.current)[0].Name
			want := map[string]map[string]string{}
			for i, annotations := range []map[string]string{test.wantA, test.wantB} {
				if annotations != nil {
					want[stored[i].Name] = annotations
				}
			}
			if test.unstored {
				stored = stored[:1]
			}
			got := map[string]map[string]string{}
			for _, marked := range history.Find(history.Sources{Manager: m, Stored: stored}).ToMark(test.hasFailed, Now) {
				got[marked.Name] = marked.Annotations
			}
			if !maps.EqualFunc(got, want, maps.Equal) {
				t.Errorf("marks %v, want %v", got, want)
			}
		})
	}
}

// A revision that pods still have, and that was never stored or was deleted, is stored again. It keeps its number and marks.
func TestRevisionsInUseAreStored(t *testing.T) {
	before := history.Find(history.Sources{Manager: Manager(1, Image("a"))})
	_, unstored := before.ToStore(false)
	withStored := Versions("a", "b")
	withStored[0].Annotations = map[string]string{v1.AnnotationFailed: "true"}
	_, deleted := history.Find(history.Sources{Manager: Manager(1, Image("a")), Stored: withStored}).ToStore(false)
	ofA := []*corev1.Pod{Pod(0, OfImage("a"))}
	tests := map[string]struct {
		remembered []*history.Revision
		pods       []*corev1.Pod
		stored     []*appsv1.ControllerRevision
		// number and failed are about the revision of image a. The number is 0 if it is not stored.
		number int64
		failed bool
	}{
		"never stored":               {remembered: unstored, pods: ofA, number: 1},
		"never stored, after others": {remembered: unstored, pods: ofA, stored: Versions("x", "b", "c")[1:], number: 4},
		"no pod has it":              {remembered: unstored},
		"another client deleted it":  {remembered: deleted, pods: ofA, stored: Versions("a", "b")[1:], number: 1, failed: true},
		"deleted, and no pod has it": {remembered: deleted, stored: Versions("a", "b")[1:]},
		"it is still stored":         {remembered: deleted, pods: ofA, stored: Versions("a", "b")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := history.Find(history.Sources{Manager: Manager(1, Image("b")), Stored: test.stored, Remembered: test.remembered, Pods: test.pods})
			stores, remember := found.ToStore(false)
			var number int64
			for _, store := range stores {
				template, err := templateIn(store.Revision)
				if err != nil {
					t.Fatal(err)
				}
				if template.Spec.Containers[0].Image == "a" {
					number = store.Revision.Revision
					if failed := store.Revision.Annotations[v1.AnnotationFailed] != ""; failed != test.failed || store.Exists {
						t.Errorf("stores %+v", store.Revision)
					}
				}
			}
			if number != test.number {
				t.Errorf("stored as number %d, want %d", number, test.number)
			}
			if isRemembered := len(remember) > 1; isRemembered != (test.number > 0) {
				t.Errorf("%d revisions are remembered", len(remember))
			}
		})
	}
}
