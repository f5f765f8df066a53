package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// every returns every kind of response to a write. The error is nil for a success.
func every() map[string]error {
	resource, kind := schema.GroupResource{Resource: "things"}, schema.GroupKind{Kind: "Thing"}
	return map[string]error{
		"200":     nil,
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

// Whatever the API server responds to a write, even repeatedly, the key is not forgotten. Either the sync fails and is repeated with backoff. Or such
// requests are in backoff, and the key is requeued when it is over. Or the next sync waits until the cache shows the write. Otherwise nothing is left
// to do.
func TestEveryAnswerEnds(t *testing.T) {
	manager := Manager(3)
	manager.Finalizers = []string{v1.Finalizer}
	revision, stored := RevisionFor(manager), Stored(manager, 1)
	pod := Pod(0)
	manager.ResourceVersion, stored.ResourceVersion, pod.ResourceVersion = "7", "7", "7"
	one, two := TemplateWith(), TemplateWith(Needs(Amounts("cpu", "2", "")))
	resized := pod.DeepCopy()
	resized.Spec = *one.Spec.DeepCopy()
	_, remember := history.Find(history.Sources{Manager: manager}).ToStore(true)
	stores, _ := history.Find(history.Sources{Manager: manager, Remembered: remember}).ToStore(true)
	update := func(step inplace.Step) plan.Plan {
		return plan.Plan{Update: []inplace.Update{{Pod: resized, Step: step, From: RevisionWith("one", one), To: RevisionWith("two", two)}}}
	}
	tests := map[string]struct {
		plan plan.Plan
		// done has the responses after which nothing is left to do.
		done []string
	}{
		"create":           {plan: plan.Plan{Create: []plan.Creation{{Index: 0, Revision: revision}}}, done: []string{"exists"}}, // the pod is ours
		"delete":           {plan: plan.Plan{Delete: []rollout.Deletion{{Pod: pod, Why: rollout.WhySurplus}}}},
		"adopt":            {plan: plan.Plan{Adopt: []*corev1.Pod{pod}}},
		"release":          {plan: plan.Plan{Release: []*corev1.Pod{pod}}},
		"annotate":         {plan: plan.Plan{Annotate: []*corev1.Pod{pod}}},
		"drain":            {plan: update(inplace.StepDrain)},
		"resize":           {plan: update(inplace.StepResize)},
		"update":           {plan: update(inplace.StepUpdate)},
		"restore":          {plan: update(inplace.StepRestore)},
		"open":             {plan: plan.Plan{Update: []inplace.Update{{Pod: pod, Step: inplace.StepOpen}}}},
		"store":            {plan: plan.Plan{Store: stores}, done: []string{"exists"}}, // with the same template
		"adopt revision":   {plan: plan.Plan{AdoptRevisions: []*appsv1.ControllerRevision{stored}}},
		"drop":             {plan: plan.Plan{Drop: []*appsv1.ControllerRevision{stored}}, done: []string{"200", "404"}},
		"mark":             {plan: plan.Plan{Mark: []*appsv1.ControllerRevision{stored}}},
		"add finalizer":    {plan: plan.Plan{AddFinalizer: true}},
		"remove finalizer": {plan: plan.Plan{RemoveFinalizer: true}, done: []string{"404"}},
	}
	for kind, test := range tests {
		for answer, err := range every() {
			t.Run(kind+" "+answer, func(t *testing.T) {
				_, ctx := ktesting.NewTestContext(t)
				server := &answering{err: err, objects: map[string]any{"pods": pod, "controllerrevisions": stored, "podmanagers": manager}}
				e := server.executor(t)
				key := cache.MetaObjectToName(manager)
				for range 3 { // a second failure of the same kind may be taken for a refusal
					done := perform(ctx, e, key, manager, test.plan)
					if caught, panicked := errors.AsType[*reconcile.PanicError](done.Err); panicked || server.writes == 0 {
						t.Fatalf("the plan sent %d writes, want at least one; panic %v", server.writes, caught)
					}
					isBlocked := false
					for _, backoff := range e.States.Of(key).BackoffsOf(manager) {
						isBlocked = isBlocked || backoff.Until.After(e.Clock.Now()) && !done.Again.Never() && !done.Again.At.After(backoff.Until)
					}
					isWaiting := answer == "200" && e.States.Of(key).Waiting()
					if done.Err == nil && !isBlocked && !isWaiting && !slices.Contains(test.done, answer) {
						t.Errorf("nothing would retry the key: again %v, waiting %v, created %d, deleted %d", done.Again, e.States.Of(key).Waiting(), len(done.Created), len(done.Deleted))
					}
				}
			})
		}
	}
}

func perform(ctx context.Context, e *Executor, key cache.ObjectName, manager *v1.PodManager, decided plan.Plan) *reconcile.Outcome {
	observed := &plan.Observed{Manager: manager, IsLive: true, Now: e.Clock.Now()}
	done, proceed := e.Begin(ctx, key, observed, decided)
	if proceed {
		e.Apply(ctx, key, observed, decided, done)
	}
	return done
}

// answering is the transport of a fake API server that fails all writes with an error, or accepts all of them. Reads return the object of the
// resource.
type answering struct {
	err     error
	objects map[string]any
	writes  int
}

func (a *answering) executor(t *testing.T) *Executor {
	t.Helper()
	config := &rest.Config{Host: "http://api", Transport: a}
	kube, err1 := kubernetes.NewForConfig(config)
	managers, err2 := source.NewManagerClient(config)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return newExecutor(source.Clients{Kube: kube, PodManagers: managers, Statuses: managers})
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	code, answer := http.StatusOK, any(nil)
	for resource, object := range a.objects {
		if slices.Contains(strings.Split(r.URL.Path, "/"), resource) {
			answer = object
		}
	}
	if r.Method != http.MethodGet {
		a.writes++
		if a.err != nil {
			status := apierrors.APIStatus(nil)
			if !errors.As(a.err, &status) {
				return nil, a.err
			}
			failure := status.Status()
			failure.Kind, failure.APIVersion = "Status", "v1"
			code, answer = int(failure.Code), failure
		}
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(encoded)), Request: r}, nil
}
