package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"math/rand/v2"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func metadataClient(s sim) (metadata.Interface, error) {
	return metadata.NewForConfig(configOf(s.Server, "metadata", nil))
}

func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	errors.As(err, &status)
	return status.Status()
}

func watchFrom(ctx context.Context, s sim, version string) []string {
	w := must(s.pods().Watch(ctx, metav1.ListOptions{ResourceVersion: version}))
	defer w.Stop()
	return events(w)
}

func TestCompactAndRestart(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		history(ctx, t, s)
		s.Compact(5)
		if got := watchFrom(ctx, s, "4"); !slices.Equal(got, []string{"ERROR 410 too old resource version: 4 (5)", "END"}) {
			t.Errorf("a watch from before the compaction sends %q", got)
		}
		if got := watchFrom(ctx, s, "5"); !slices.Equal(got, []string{"MODIFIED a 6", "DELETED a 7"}) {
			t.Errorf("a watch from the compaction on sends %q", got)
		}
		w := must(s.pods().Watch(ctx, metav1.ListOptions{ResourceVersion: "7"}))
		defer w.Stop()
		s.Restart()
		if got := events(w); !slices.Equal(got, []string{"END"}) {
			t.Errorf("a watch sends %q when the server restarts", got)
		}
		if got := watchFrom(ctx, s, "6"); len(got) != 2 || !strings.Contains(got[0], "410") {
			t.Errorf("a watch from before the restart sends %q", got)
		}
		if found := must(s.pods().List(ctx, metav1.ListOptions{ResourceVersion: "6", ResourceVersionMatch: metav1.ResourceVersionMatchExact})); len(found.Items) != 2 {
			t.Errorf("the history has %+v", found.Items)
		}
	})
}

func TestRestore(t *testing.T) {
	for ahead, want := range map[int64]string{0: "5", 100: "105"} {
		simulate(t, nil, func(t *testing.T, s sim) {
			ctx := t.Context()
			history(ctx, t, s)
			if err := s.Restore(4, ahead); err != nil {
				t.Fatal(err)
			}
			found := must(s.pods().List(ctx, metav1.ListOptions{LabelSelector: "app=web"}))
			if len(found.Items) != 2 || found.Items[1].ResourceVersion != "4" || found.ResourceVersion != fmt.Sprint(4+ahead) {
				t.Errorf("after the restore there is %+v", found)
			}
			if made := must(s.pods().Create(ctx, newPod("c"), create)); made.ResourceVersion != want {
				t.Errorf("the next version is %s, want %s", made.ResourceVersion, want)
			}
			if err := s.Restore(1000, 0); err == nil {
				t.Error("a version that was never written can be restored")
			}
		})
	}
}

// testFaults injects the faults that a test asks for.
type testFaults struct {
	before, after error
	delay         time.Duration // even if the client gives up
	stream        *apiserver.Stream
	asked         []string
}

func (f *testFaults) Before(_ context.Context, r *apiserver.Request) error {
	f.asked = append(f.asked, r.String())
	time.Sleep(f.delay)
	return f.before
}

func (f *testFaults) After(_ context.Context, r *apiserver.Request, status int) error {
	f.asked = append(f.asked, fmt.Sprint(r.Verb, " ", status))
	return f.after
}

func (f *testFaults) Watch(stream *apiserver.Stream) { f.stream = stream }

func TestFaults(t *testing.T) {
	lost := errors.New("connection lost")
	tests := map[string]struct {
		faults  testFaults
		want    error
		written int64
	}{
		"none":                                 {testFaults{}, nil, 1},
		"refused":                              {testFaults{before: lost}, lost, 0},
		"the answer is lost":                   {testFaults{after: lost}, lost, 1},
		"late":                                 {testFaults{delay: 5 * time.Second}, nil, 1},
		"later than the client waits":          {testFaults{delay: 30 * time.Second}, context.DeadlineExceeded, 1},
		"never, and the client does not wait":  {testFaults{delay: 30 * time.Second, before: lost}, context.DeadlineExceeded, 0},
		"an answer that the server never gave": {testFaults{before: apierrors.NewInternalError(lost)}, apierrors.NewInternalError(lost), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, &test.faults, func(t *testing.T, s sim) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				before := s.Version()
				_, err := s.pods().Create(ctx, newPod("a"), create)
				if test.want == nil && err != nil || test.want != nil && (err == nil || !errors.Is(err, test.want) && !strings.Contains(err.Error(), test.want.Error())) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if wrote := s.Version() - before; wrote != test.written {
					t.Errorf("%d writes, want %d", wrote, test.written)
				}
				if first := test.faults.asked[0]; first != "test: create pods default" {
					t.Errorf("the request is %q", first)
				}
			})
		})
	}
}

func TestStreamFaults(t *testing.T) {
	tests := map[string]struct {
		harm func(s *apiserver.Stream)
		want []string
	}{
		"none":    {func(*apiserver.Stream) {}, []string{"ADDED a 2"}},
		"paused":  {(*apiserver.Stream).Pause, nil},
		"cut":     {func(s *apiserver.Stream) { s.Cut(io.ErrUnexpectedEOF) }, []string{"END"}},
		"closed":  {func(s *apiserver.Stream) { s.Cut(io.EOF) }, []string{"END"}},
		"expired": {(*apiserver.Stream).Expire, []string{"ERROR 410 too old resource version: 1 (1)", "END"}},
		"resumed": {func(s *apiserver.Stream) { s.Pause(); time.AfterFunc(time.Second, s.Resume) }, []string{"ADDED a 2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			faults := &testFaults{}
			simulate(t, faults, func(t *testing.T, s sim) {
				w := must(s.pods().Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}))
				defer w.Stop()
				test.harm(faults.stream)
				must(s.pods().Create(t.Context(), newPod("a"), create))
				time.Sleep(2 * time.Second)
				if got := events(w); !slices.Equal(got, test.want) {
					t.Errorf("the watch sends %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestAdmission(t *testing.T) {
	pods := corev1.Resource("pods")
	tests := map[string]struct {
		refusal error
		code    int
		reason  metav1.StatusReason
	}{
		"none":              {nil, 0, ""},
		"forbidden":         {apierrors.NewForbidden(pods, "a", errors.New("denied")), 403, metav1.StatusReasonForbidden},
		"not found":         {apierrors.NewNotFound(pods, "b"), 404, metav1.StatusReasonNotFound},
		"conflict":          {apierrors.NewConflict(pods, "a", errors.New("changed")), 409, metav1.StatusReasonConflict},
		"invalid":           {apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "a", nil), 422, metav1.StatusReasonInvalid},
		"too many requests": {apierrors.NewTooManyRequests("wait", 7), 429, metav1.StatusReasonTooManyRequests},
		"an error":          {errors.New("broken"), 500, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				s.Admit(func(ctx context.Context, review *apiserver.Review) error {
					time.Sleep(time.Second)
					if review.Operation == apiserver.Create {
						review.Object.SetAnnotations(map[string]string{"seen": "yes"})
					}
					return test.refusal
				})
				began := time.Now()
				// Without retries: the client would obey Retry-After, wait, and try again ten times.
				result := s.kube.CoreV1().RESTClient().Post().MaxRetries(0).Namespace("default").Resource("pods").Body(newPod("a")).Do(t.Context())
				made := &corev1.Pod{}
				err := result.Into(made)
				checkError(t, err, test.code, "")
				if took := time.Since(began); took != time.Second {
					t.Errorf("the request took %v", took)
				}
				if err == nil && made.Annotations["seen"] != "yes" {
					t.Errorf("the pod is created as %+v", made.ObjectMeta)
				}
				if err != nil && statusOf(err).Reason != test.reason {
					t.Errorf("the reason is %q", statusOf(err).Reason)
				}
			})
		})
	}
}

func TestQuota(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resourceOf("1")}}}
		must(s.kube.CoreV1().ResourceQuotas("default").Create(ctx, quota, create))
		must(s.pods().Create(ctx, newPod("a"), create))
		_, err := s.pods().Create(ctx, newPod("b"), create)
		checkError(t, err, 403, `pods "b" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`)
	})
}

func TestBindAndEvict(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		pod := s.running(ctx, t, "web", "app", "web")
		if pod.Spec.NodeName != "node" || pod.Generation != 1 {
			t.Errorf("the pod is %+v on node %q", pod.ObjectMeta, pod.Spec.NodeName)
		}
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Name: "other"}}
		checkError(t, s.pods().Bind(ctx, binding, create), 409, `Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "node"`)

		one := intstr.FromInt32(1)
		budgets := s.kube.PolicyV1().PodDisruptionBudgets("default")
		budget := must(budgets.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}, create))
		evict := func() error {
			body := &policyv1.Eviction{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			return s.kube.CoreV1().RESTClient().Post().MaxRetries(0).Namespace("default").Resource("pods").Name("web").SubResource("eviction").Body(body).Do(ctx).Error()
		}
		err := evict()
		checkError(t, err, 429, "Cannot evict pod as it would violate the pod's disruption budget.")
		if causes := statusOf(err).Details.Causes; causes[0].Message != "The disruption budget web is still being processed by the server." {
			t.Errorf("the causes are %+v", causes)
		}
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1, CurrentHealthy: 1}
		budget = must(budgets.UpdateStatus(ctx, budget, update))
		err = evict()
		checkError(t, err, 429, "")
		if causes := statusOf(err).Details.Causes; causes[0].Message != "The disruption budget web needs 1 healthy pods and has 1 currently" || causes[0].Type != policyv1.DisruptionBudgetCause {
			t.Errorf("the causes are %+v", causes)
		}
		budget.Status.DisruptionsAllowed = 1
		must(budgets.UpdateStatus(ctx, budget, update))
		checkError(t, evict(), 0, "")
		live := must(s.pods().Get(ctx, "web", get))
		last := live.Status.Conditions[len(live.Status.Conditions)-1]
		if live.DeletionTimestamp == nil || last.Type != corev1.DisruptionTarget || last.Reason != "EvictionByEvictionAPI" {
			t.Errorf("the pod's status is %+v", live.Status)
		}
		if budget := must(budgets.Get(ctx, "web", get)); budget.Status.DisruptionsAllowed != 0 || len(budget.Status.DisruptedPods) != 1 {
			t.Errorf("the budget is %+v", budget.Status)
		}
	})
}

func TestDiscoveryAndReviews(t *testing.T) {
	custom := podManagers()
	server := apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(1, 1)), Custom: []*apiserver.Resource{custom}, Authorize: func(r *apiserver.Request) bool {
		return r.Resource.Name == "pods" && r.Verb == "list" && r.Subresource == ""
	}})
	ctx := t.Context()
	client := must(kubernetes.NewForConfig(configOf(server, "me", nil)))
	for version, want := range map[string][]string{"v1": {"pods", "pods/resize"}, v1.GroupVersion.String(): {"podmanagers", "podmanagers/scale"}} {
		var names []string
		for _, r := range must(client.Discovery().ServerResourcesForGroupVersion(version)).APIResources {
			names = append(names, r.Name)
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s is not among %v", name, names)
			}
		}
	}
	if version := must(client.Discovery().ServerVersion()); version.Minor != "36" {
		t.Errorf("the version is %v", version)
	}
	for verb, want := range map[string]bool{"list": true, "get": false} {
		asked := &authorizationv1.ResourceAttributes{Namespace: "default", Resource: "pods", Verb: verb}
		review := must(client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: asked}}, create))
		if review.Status.Allowed != want {
			t.Errorf("the client may %s: %v", verb, review.Status.Allowed)
		}
	}
	must(client.CoreV1().Pods("default").List(ctx, list))
	_, err := client.CoreV1().Pods("default").Get(ctx, "a", get)
	checkError(t, err, 403, `pods "a" is forbidden: User "me" cannot get resource "pods" in API group "" in the namespace "default"`)
	_, err = client.CoreV1().Secrets("default").List(ctx, list)
	checkError(t, err, 404, "the server could not find the requested resource")
}

// An observer sees all writes in order. With the same random source, the same requests create the same objects.
func TestSameDice(t *testing.T) {
	course := func() (seen []string) {
		simulate(t, nil, func(t *testing.T, s sim) {
			s.Observe(func(c *apiserver.Change) {
				content, err := json.Marshal(c.New)
				seen = append(seen, fmt.Sprint(c.Version, c.Request, string(content), err))
			})
			wanted := newPod("")
			wanted.GenerateName = "web-"
			must(s.pods().Create(t.Context(), wanted, create))
			history(t.Context(), t, s)
		})
		return seen
	}
	first, second := course(), course()
	if len(first) != 7 || !slices.Equal(first, second) {
		t.Errorf("the first run gives %q, the second %q", first, second)
	}
}
