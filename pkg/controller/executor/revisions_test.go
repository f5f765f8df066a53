package executor

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan/history"
)

// The name of a revision is in use by a revision of another PodManager with the same name: a predecessor, whose objects the garbage collector
// has not deleted yet, or a successor, which the cache does not show yet.
func TestRevisionOfNamesake(t *testing.T) {
	for name, test := range map[string]struct {
		live     types.UID
		wantGone bool
	}{
		"a predecessor": {live: "ours", wantGone: true},
		"a successor":   {live: "another"},
		"none is left":  {live: ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "ours"}}
			managers := fake.NewSimpleClientset()
			if test.live != "" {
				managers = fake.NewSimpleClientset(&v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: test.live}})
			}
			namesake := metav1.OwnerReference{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: "web", UID: "another", Controller: ptr.To(true)}
			kube := kubefake.NewClientset(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", OwnerReferences: []metav1.OwnerReference{namesake}}})
			e := New(reconcile.Deps{Clients: source.Clients{Kube: kube, PodManagers: managers.AppsV1()}, States: syncstate.New(), Clock: clock.RealClock{}})

			done := &reconcile.Outcome{Manager: manager}
			wanted := history.Store{Revision: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1"}}}
			proceeds := e.storeRevisions(ctx, cache.MetaObjectToName(manager), []history.Store{wanted}, done)
			if proceeds || !done.Outdated || done.Again.Never() == (done.Err == nil) || (done.Err == nil) != test.wantGone {
				t.Errorf("proceeds: %v, outdated: %v, again: %+v, error: %v", proceeds, done.Outdated, done.Again, done.Err)
			}
			list, err := kube.AppsV1().ControllerRevisions("ns").List(ctx, metav1.ListOptions{})
			if err != nil || (len(list.Items) == 0) != test.wantGone {
				t.Errorf("%d revisions are left, want the revision to be deleted: %v; error %v", len(list.Items), test.wantGone, err)
			}
		})
	}
}
