package executor

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A revision of ours lacks our labels, so that no cache shows it. The attempt to store it again finds it, and restores the labels. If that is refused,
// it is in backoff.
func TestRelabelledRevision(t *testing.T) {
	for name, refuses := range map[string]bool{"restored": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			manager := Manager(3)
			stored := Stored(manager, 1)
			stored.Labels = map[string]string{"keep": "me"}
			kube := kubefake.NewClientset(stored)
			if refuses {
				refuseUpdates(kube)
			}
			e, done := newExecutor(source.Clients{Kube: kube}), &reconcile.Outcome{Manager: manager}
			stores, _ := history.Find(history.Sources{Manager: manager}).ToStore(true)
			key := cache.MetaObjectToName(manager)
			if proceeds := e.storeRevisions(ctx, key, stores, done); proceeds == refuses {
				t.Errorf("proceeds: %v", proceeds)
			}
			if backoff, isBlocked := e.States.Of(key).BackoffsOf(manager)[requeue.BackoffStore]; isBlocked != refuses {
				t.Errorf("in backoff: %+v", backoff)
			}
			after, err := kube.AppsV1().ControllerRevisions(key.Namespace).Get(ctx, stored.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			isLabelled := after.Labels[v1.LabelManager] == manager.Name && after.Labels[v1.LabelRevision] == stores[0].Revision.Labels[v1.LabelRevision]
			if isLabelled == refuses || after.Labels["keep"] == "" {
				t.Errorf("the labels are %v", after.Labels)
			}
		})
	}
}

// refuseUpdates refuses all updates of revisions.
func refuseUpdates(kube *kubefake.Clientset) {
	kube.PrependReactor("update", "controllerrevisions", func(clientgotesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "controllerrevisions"}, "", errors.New("no"))
	})
}

// A refused update or adoption of a revision is in backoff, told, and stops nothing else of the plan.
func TestRefusedUpdateOfRevision(t *testing.T) {
	manager := Manager(1, Because("ticket"))
	stored, orphan := Stored(manager, 1), Stored(Manager(0, Image("orphan")), 2)
	orphan.OwnerReferences = nil
	stores, _ := history.Find(history.Sources{Manager: manager, Stored: []*appsv1.ControllerRevision{stored}}).ToStore(true)
	create := []plan.Creation{{Index: 0, Revision: RevisionFor(manager)}}
	for name, test := range map[string]struct {
		decided plan.Plan
		key     requeue.BackoffKey
	}{
		"update":   {plan.Plan{Store: stores, Create: create}, requeue.BackoffRenew},
		"adoption": {plan.Plan{AdoptRevisions: []*appsv1.ControllerRevision{orphan, orphan}, Create: create}, requeue.BackoffInherit},
	} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			kube := kubefake.NewClientset(stored, orphan)
			refuseUpdates(kube)
			e, key := newExecutor(source.Clients{Kube: kube}), cache.MetaObjectToName(manager)
			done := &reconcile.Outcome{Manager: manager, LookedAt: e.Clock.Now()}
			e.Apply(ctx, key, &plan.Observed{Manager: manager}, test.decided, done)
			if backoff, isBlocked := e.States.Of(key).BackoffsOf(manager)[test.key]; !isBlocked || done.Failure == nil || done.Again.Never() {
				t.Errorf("in backoff: %+v, failure %v, again %v", backoff, done.Failure, done.Again)
			}
			if len(done.Created) != 1 || done.Err != nil {
				t.Errorf("%d pods are created, want one; error %v", len(done.Created), done.Err)
			}
		})
	}
}
