package history_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// Another client can write any status, and a ControllerRevision with our label. Find still returns the spec's template as the present one. ToStore
// gives it the highest number, and one that the API server accepts. BeyondLimit drops no revision that is in use.
func FuzzRevisions(f *testing.F) {
	good := history.Encode(history.Template(&Manager(0).Spec))
	f.Add(good, "web-1", "5d9c", int64(1), int32(0), true, "web-1")
	f.Add([]byte(`{"spec":{"containers":null}}`), "web-1", "", int64(7), int32(3), false, "web-2")
	f.Add([]byte("null"), "", "x", int64(-1), int32(-1), true, "")
	f.Add([]byte(`{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}`), "web-1", "5d9c", int64(math.MaxInt64), int32(math.MaxInt32), true, "web-1")
	f.Fuzz(func(t *testing.T, data []byte, name, hash string, number int64, collisions int32, orphan bool, current string) {
		m := Manager(3)
		m.Status.CollisionCount, m.Status.CurrentRevision = collisions, current
		foreign := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{v1.LabelManager: "web", v1.LabelRevision: hash}},
			Data:       runtime.RawExtension{Raw: data}, Revision: max(0, number), // the API server accepts no negative number
		}
		sources := history.Sources{Manager: m, Stored: []*appsv1.ControllerRevision{foreign}, Pods: Pods3()}
		if orphan {
			sources.Stored, sources.Orphans = nil, sources.Stored
		}
		found := history.Find(sources)
		checkFound(t, found, history.Template(&m.Spec))
		checkStores(t, found, foreign)
		dropped := found.BeyondLimit()
		if found.Current != nil && slices.Contains(dropped, foreign) && found.Current.Name == foreign.Name {
			t.Error("the current revision is dropped")
		}
		found.ToMark(true, time.Now())
	})
}

// checkFound checks the revisions that were found for a template.
func checkFound(t *testing.T, found history.Revisions, template *corev1.PodTemplateSpec) {
	t.Helper()
	if found.Update == nil || !equality.Semantic.DeepEqual(found.Update.Template(), template) {
		t.Fatalf("the present template is %v", found.Update)
	}
	if found.Current != nil && found.Current.Template() == nil {
		t.Error("the current revision has no template to return to")
	}
	if problems := validation.IsValidLabelValue(found.Update.Hash); !found.Update.IsStored() && len(problems) > 0 {
		t.Errorf("the hash %q is not a valid label value: %v", found.Update.Hash, problems)
	}
}

// checkStores checks that the present template is stored, as the newest revision and under a name of its own.
func checkStores(t *testing.T, found history.Revisions, foreign *appsv1.ControllerRevision) {
	t.Helper()
	stores, _ := found.ToStore(true)
	for _, store := range stores {
		if store.Revision.Revision < foreign.Revision || !json.Valid(store.Revision.Data.Raw) && !store.Exists {
			t.Errorf("stored as number %d beside %d: %s", store.Revision.Revision, foreign.Revision, store.Revision.Data.Raw)
		}
		if !store.Exists && store.Revision.Name == foreign.Name && store.Revision.Labels[v1.LabelRevision] == foreign.Labels[v1.LabelRevision] {
			t.Errorf("%s is to be created, although it exists", foreign.Name)
		}
	}
	if !found.Update.IsStored() && len(stores) == 0 {
		t.Error("the present template is not stored")
	}
}

// Decoding and encoding a template again yields the same bytes. Otherwise the API server would refuse to orphan a revision, and the same template
// would get another hash.
func FuzzEncode(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"nginx","resources":{"limits":{"cpu":"0.5","memory":"1Gi"}}}]}}`))
	f.Add([]byte(`{"metadata":{"creationTimestamp":null,"annotations":{"<a>":"\u2028&"}},"spec":{"containers":null,"terminationGracePeriodSeconds":9007199254740993}}`))
	f.Add([]byte(`{"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1e3"}}],"tolerations":[{"tolerationSeconds":-1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		template := &corev1.PodTemplateSpec{}
		if json.Unmarshal(data, template) != nil {
			return
		}
		encoded := history.Encode(template)
		again := &corev1.PodTemplateSpec{}
		if err := json.Unmarshal(encoded, again); err != nil {
			t.Fatalf("%v in %s", err, encoded)
		}
		if !bytes.Equal(history.Encode(again), encoded) {
			t.Errorf("encoded as\n%s\nand then as\n%s", encoded, history.Encode(again))
		}
		m := Manager(1, func(m *v1.PodManager) { m.Spec.Template = template })
		stored := Stored(m, 1)
		if found := history.Find(history.Sources{Manager: m, Stored: []*appsv1.ControllerRevision{stored}}); !found.Update.IsStored() {
			t.Errorf("the stored template is not found again: %s", encoded)
		}
	})
}
