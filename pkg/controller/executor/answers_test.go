package executor

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// failures returns every kind of failed response to a request.
func failures() map[string]error {
	resource, kind := schema.GroupResource{Resource: "things"}, schema.GroupKind{Kind: "Thing"}
	return map[string]error{
		"403":     apierrors.NewForbidden(resource, "x", errors.New("no")),
		"404":     apierrors.NewNotFound(resource, "x"),
		"409":     apierrors.NewConflict(resource, "x", errors.New("changed")),
		"exists":  apierrors.NewAlreadyExists(resource, "x"),
		"410":     apierrors.NewResourceExpired("gone"),
		"422":     apierrors.NewInvalid(kind, "x", field.ErrorList{field.Forbidden(field.NewPath("spec"), "no")}),
		"429":     apierrors.NewTooManyRequests("later", 1),
		"500":     apierrors.NewInternalError(errors.New("broken")),
		"504":     apierrors.NewTimeoutError("slow", 1),
		"timeout": context.DeadlineExceeded,
		"lost":    io.ErrUnexpectedEOF,
	}
}

// Whatever the API server responds to a write, the key is retried or needs no retry: the sync fails and has a backoff, or the request has a
// hold and the key is requeued when the hold ends, or the desired state is already reached.
func TestEveryAnswerEnds(t *testing.T) {
	manager := Manager(3)
	manager.Finalizers = []string{v1.Finalizer}
	revision, stored := RevisionFor(manager), Stored(manager, 1)
	pod := Pod(0)
	_, remember := history.Find(history.Sources{Manager: manager}).ToStore(true)
	stores, _ := history.Find(history.Sources{Manager: manager, Remembered: remember}).ToStore(true)
	tests := map[string]struct {
		plan plan.Plan
		// done has the responses after which nothing is left to do.
		done []string
	}{
		"create":           {plan: plan.Plan{Create: []plan.Creation{{Index: 0, Revision: revision}}}, done: []string{"exists"}}, // the pod is ours
		"delete":           {plan: plan.Plan{Delete: []rollout.Deletion{{Pod: pod, Why: rollout.WhySurplus}}}},
		"adopt":            {plan: plan.Plan{Adopt: []*corev1.Pod{pod}}},
		"release":          {plan: plan.Plan{Release: []*corev1.Pod{pod}}},
		"update":           {plan: plan.Plan{Update: []inplace.Update{{Pod: pod, Step: inplace.StepDrain, From: revision, To: revision}}}},
		"open":             {plan: plan.Plan{Update: []inplace.Update{{Pod: pod, Step: inplace.StepOpen}}}},
		"store":            {plan: plan.Plan{Store: stores}, done: []string{"exists"}}, // with the same template
		"adopt revision":   {plan: plan.Plan{AdoptRevisions: []*appsv1.ControllerRevision{stored}}},
		"drop":             {plan: plan.Plan{Drop: []*appsv1.ControllerRevision{stored}}, done: []string{"404"}},
		"mark":             {plan: plan.Plan{Mark: []*appsv1.ControllerRevision{stored}}},
		"add finalizer":    {plan: plan.Plan{AddFinalizer: true}},
		"remove finalizer": {plan: plan.Plan{RemoveFinalizer: true}, done: []string{"404"}},
	}
	for kind, test := range tests {
		for answer, err := range failures() {
			t.Run(kind+" "+answer, func(t *testing.T) {
				_, ctx := ktesting.NewTestContext(t)
				e := answering(err, pod, stored, manager)
				key := cache.MetaObjectToName(manager)
				done, proceed := e.Begin(ctx, key, &plan.Observed{Manager: manager, IsLive: true, Now: e.Clock.Now()}, test.plan)
				if proceed {
					e.Apply(ctx, key, &plan.Observed{Manager: manager, IsLive: true, Now: e.Clock.Now()}, test.plan, done)
				}
				isHeld := false
				for _, hold := range e.States.Of(key).HoldsOf(manager.Generation) {
					isHeld = isHeld || hold.Until.After(e.Clock.Now()) && !done.Again.Never() && !done.Again.At.After(hold.Until)
				}
				if done.Err == nil && !isHeld && !slices.Contains(test.done, answer) {
					t.Errorf("nothing is left to do: again %v, waiting %v, created %d, deleted %d", done.Again, e.States.Of(key).Waiting(), len(done.Created), len(done.Deleted))
				}
			})
		}
	}
}

// answering returns an executor whose writes all fail with this error. Its reads return these objects.
func answering(err error, pod *corev1.Pod, stored *appsv1.ControllerRevision, manager *v1.PodManager) *Executor {
	fail := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err }
	kube, managers := kubefake.NewClientset(pod, stored), fake.NewSimpleClientset(manager)
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		kube.PrependReactor(verb, "*", fail)
		managers.PrependReactor(verb, "*", fail)
	}
	return newExecutor(source.Clients{Kube: kube, PodManagers: managers.AppsV1(), Statuses: managers.AppsV1()})
}
