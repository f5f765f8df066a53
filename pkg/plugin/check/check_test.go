package check_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plugin/check"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	"github.com/mycompany/podmanager/pkg/policy"
)

// facts returns the facts of a healthy cluster.
func facts(changes ...func(*Facts)) Facts {
	f := Facts{
		Server: "https://server", ServerVersion: "v1.36.3", Resources: []string{"podmanagers", "podmanagers/status", "podmanagers/scale"},
		Namespace: "podmanager-system", Lease: lease(time.Second), Resizes: true, Now: plantest.Now,
		Controllers: []Controller{{Name: "podmanager-controller", Args: []string{"-leader-elect"}, Available: 2}},
		Rules:       []policy.Rule{{Name: "pod-rights"}, {Name: "revision-rights"}},
		Rights:      []Right{{Right: rights.ListPods, For: "get", Allowed: true}}, RightsIn: "ns",
		Manager: plantest.Manager(3, func(m *v1.PodManager) {
			m.Status.ObservedGeneration, m.Labels = 7, map[string]string{"team": "a"}
		}),
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func lease(ago time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("pod-1"), LeaseDurationSeconds: ptr.To[int32](15),
		AcquireTime: &metav1.MicroTime{Time: plantest.Now.Add(-time.Hour)}, RenewTime: &metav1.MicroTime{Time: plantest.Now.Add(-ago)},
	}}
}

// shared makes replicas share three shards. holders are the holders of the shards, in order.
func shared(holders ...string) func(*Facts) {
	return func(f *Facts) {
		f.Lease.Name, f.Lease.Spec.HolderIdentity = "podmanager-controller", ptr.To("3 shards")
		add := func(name, holder string, ago time.Duration) {
			other := lease(ago)
			other.Name, other.Spec.HolderIdentity = f.Lease.Name+name, ptr.To(holder)
			f.ShardLeases = append(f.ShardLeases, *other)
		}
		for i, holder := range holders {
			add(fmt.Sprintf("-shard-%d-of-3", i), holder, time.Second)
		}
		add("-shard-0-of-2", "pod-7", time.Hour) // of a different shard count
	}
}

func conditionOf(kind string, status metav1.ConditionStatus, reason string) func(*Facts) {
	return func(f *Facts) {
		f.Manager.Status.Conditions = []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: "in words"}}
	}
}

// A condition that is False is no finding.
func TestConditionsThatAreFalse(t *testing.T) {
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionMisconfigured} {
		for _, finding := range FindingsIn(facts(conditionOf(kind, metav1.ConditionFalse, "Fine"))) {
			if finding.Check == kind {
				t.Errorf("got %+v", finding)
			}
		}
	}
}

func TestFindingsIn(t *testing.T) {
	args := func(args ...string) func(*Facts) { return func(f *Facts) { f.Controllers[0].Args = args } }
	tests := map[string]struct {
		change       func(*Facts)
		check        string
		result, says string
	}{
		"the CRD":                  {func(*Facts) {}, "CRD", OK, "PodManagers v1 are served by https://server (v1.36.3)"},
		"no CRD":                   {func(f *Facts) { f.Resources = nil }, "CRD", Failure, "https://server does not serve PodManagers"},
		"a CRD not to read":        {func(f *Facts) { f.Resources, f.ResourcesError = nil, errors.New("timeout") }, "CRD", Unknown, "whether https://server serves PodManagers is not known: timeout"},
		"no scale":                 {func(f *Facts) { f.Resources = f.Resources[:2] }, "CRD", Failure, "the CRD has no podmanagers/scale"},
		"an older CRD":             {func(f *Facts) { f.Unknown = []string{"spec.restartAt"} }, "CRD", Warning, "the CRD and this plugin are of different versions: the CRD has no spec.restartAt"},
		"a leader":                 {func(*Facts) {}, "Leader", OK, "pod-1 holds the Lease for 60m"},
		"no leader":                {func(f *Facts) { f.Lease = nil }, "Leader", Warning, "no replica holds the Lease"},
		"a dead leader":            {func(f *Facts) { f.Lease = lease(time.Minute) }, "Leader", Failure, "has not renewed it for 60s"},
		"a lease not to read":      {func(f *Facts) { f.LeaseError = errors.New("forbidden") }, "Leader", Unknown, "cannot be read: forbidden"},
		"a group":                  {shared("pod-1", "pod-2", "pod-1"), "Leader", OK, "a group of replicas, which share 3 shards, holds the Lease for 60m"},
		"shards":                   {shared("pod-1", "pod-2", "pod-1"), "Shards", OK, "3 shards on 2 replicas: 1, 2; web is in 0-of-3, on pod-1"},
		"a shard without a holder": {shared("pod-1", "", "pod-1"), "Shards", Warning, "no replica holds 1-of-3; 2 shards on 1 replica: 2"},
		"a shard without a Lease":  {shared("", "pod-2"), "Shards", Failure, "no replica works on web: no replica holds 0-of-3, 2-of-3; 1 shard on 1 replica: 1"},
		"no shard is held":         {shared("", "", ""), "Shards", Failure, "no replica works on web: no replica holds any of the 3 shards"},
		"a shard that ran out": {func(f *Facts) {
			shared("pod-1", "pod-2", "pod-1")(f)
			f.ShardLeases[1].Spec.RenewTime = &metav1.MicroTime{Time: plantest.Now.Add(-time.Minute)}
		}, "Shards", Warning, "no replica holds 1-of-3"},
		"shards not to read": {func(f *Facts) {
			shared()(f)
			f.ShardsError = errors.New("forbidden")
		}, "Shards", Unknown, "cannot be read: forbidden"},
		"a controller":      {func(*Facts) {}, "Controller", OK, "Deployment podmanager-controller has 2 pods available, and its -namespace and -selector include web"},
		"no controller":     {func(f *Facts) { f.Controllers, f.Lease = nil, nil }, "Controller", Warning, "the controller may run outside of the cluster"},
		"one outside":       {func(f *Facts) { f.Controllers = nil }, "Controller", OK, "the holder of the Lease runs outside of the cluster"},
		"none available":    {func(f *Facts) { f.Controllers[0].Available = 0 }, "Controller", Failure, "none of its pods is available"},
		"another namespace": {args("-namespace=a", "-namespace", "b"), "Controller", Failure, "-namespace is a, b, not ns"},
		"its own namespace": {args("-namespace=a", "--namespace", "ns"), "Controller", OK, "its -namespace and -selector include web"},
		"another label":     {args("-selector", "team in (b,c)"), "Controller", Failure, "-selector team in (b,c) does not select web"},
		"its own label":     {args("-selector=team=a"), "Controller", OK, "its -namespace and -selector include web"},
		"the policy":        {func(*Facts) {}, "Policy", OK, "only users who may create pods can create pods through PodManagers"},
		"no policy": {func(f *Facts) { f.Rules = policy.RulesIn("podmanager", nil, nil) }, "Policy", Warning,
			"there is no ValidatingAdmissionPolicy podmanager-pod-rights, so that users who may write PodManagers can create pods"},
		"a policy not to read": {func(f *Facts) { f.RulesError = errors.New("forbidden") }, "Policy", Unknown, "is not known: forbidden"},
		"a right":              {func(*Facts) {}, "Right", OK, "you may list pods"},
		"no right":             {func(f *Facts) { f.Rights[0].Allowed = false }, "Right", Warning, "you may not list pods"},
		"a right not known":    {func(f *Facts) { f.Rights[0].Err = errors.New("broken") }, "Right", Unknown, "whether you may list pods is not known: broken"},
		"seen":                 {func(*Facts) {}, "Object", OK, "the controller has seen generation 7 of web"},
		"never seen":           {func(f *Facts) { f.Manager.Status.ObservedGeneration = -1 }, "Object", Failure, "no controller has ever seen web"},
		"not seen yet":         {func(f *Facts) { f.Manager.Status.ObservedGeneration = 6 }, "Object", Warning, "has seen generation 6 of web, but not yet 7"},
		"stalled":              {conditionOf(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonInvalidPod), "Stalled", Warning, "InvalidPod: in words"},
		"misconfigured": {conditionOf(v1.ConditionMisconfigured, metav1.ConditionTrue, v1.ReasonUnreachable), "Misconfigured", Warning,
			"FailureThresholdUnreachable: in words"},
		"pods are refused": {func(f *Facts) {
			f.Room.Rejection = &requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "Invalid value"}
		}, "Pods", Warning,
			"the API server refuses the pods of web: Invalid value"},
		"no updates in place": {func(*Facts) {}, "Resize", OK, "pods are never updated in place"},
		"a resize":            {func(f *Facts) { plantest.InPlace(v1.InPlaceOnly, 0)(f.Manager) }, "Resize", OK, "can resize pods in place"},
		"no resize": {func(f *Facts) {
			plantest.InPlace(v1.InPlaceOnly, 0)(f.Manager)
			f.Resizes = false
		}, "Resize", Warning, "has no pods/resize"},
		"a resize not to read": {func(f *Facts) {
			plantest.InPlace(v1.InPlaceOnly, 0)(f.Manager)
			f.Resizes, f.ResizesError = false, errors.New("timeout")
		}, "Resize", Unknown, "whether the API server can resize pods in place is not known: timeout"},
		"no right to resize": {func(f *Facts) {
			plantest.InPlace(v1.InPlaceOnly, 0)(f.Manager)
			args("-resize-and-drain=false")(f)
		}, "Resize", Warning, "the controller runs with -resize-and-drain=false: a change of CPU or memory needs new pods"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			findings := FindingsIn(facts(test.change))
			if Failed(findings) != (test.result == Failure) {
				t.Errorf("Failed returns %v for %+v", Failed(findings), findings)
			}
			for _, finding := range findings {
				if finding.Check != test.check {
					continue
				}
				if finding.Result != test.result || !strings.Contains(finding.Says, test.says) {
					t.Errorf("got %+v", finding)
				}
				return
			}
			t.Errorf("there is no check %s: %+v", test.check, findings)
		})
	}
}

// For every permission in Rights, check can name a role and the verbs that need the permission.
func TestEveryRightHasARole(t *testing.T) {
	for _, right := range Rights() {
		if right.Role() == "" || right.For == "" {
			t.Errorf("%s: the role is %q, for %q", right, right.Role(), right.For)
		}
	}
}

// If no controller has handled the last change, check says what to look at.
func TestNotSeen(t *testing.T) {
	for observed, want := range map[int64]string{
		-1: "check that a controller runs, and that its flags -namespace and -selector cover the PodManager",
		6:  "check that a controller runs, and that its flags -namespace and -selector cover the PodManager",
		7:  "",
	} {
		for _, finding := range FindingsIn(facts(func(f *Facts) { f.Manager.Status.ObservedGeneration = observed })) {
			if finding.Check == "Object" && finding.Advice != want {
				t.Errorf("generation %d: got %+v", observed, finding)
			}
		}
	}
}

func TestLines(t *testing.T) {
	got := text.Join(Lines(FindingsIn(facts(func(f *Facts) {
		f.Rights[0].Allowed, f.User, f.Manager, f.Rules[0].Missing = false, "jane", nil, "no policy"
	})), text.Style{}))
	want := `CHECK        RESULT    WHAT
CRD          ok        PodManagers v1 are served by https://server (v1.36.3)
Leader       ok        pod-1 holds the Lease for 60m
Controller   ok        Deployment podmanager-controller has 2 pods available
Policy       warning   no policy, so that users who may write PodManagers can create pods without the right to create pods
                         kubectl apply -f artifacts/policy.yaml
Right        warning   you may not list pods
                         needed for get; the role view grants this right: kubectl create rolebinding jane-view --clusterrole=view --user=jane --namespace=ns
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
