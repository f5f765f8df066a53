package clients

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2/ktesting"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// ruleObjects returns the policy and the binding of a rule.
func ruleObjects(name string) []runtime.Object {
	meta := metav1.ObjectMeta{Name: name}
	return []runtime.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}},
	}
}

// missingSeries returns the series of podmanager_policy_missing, by policy.
func missingSeries(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "podmanager_policy_missing" {
			for _, metric := range family.GetMetric() {
				series[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	return series
}

// Rules are added, then cannot be read for a while, then are forbidden. Warning and metric follow, with one read every five minutes.
func TestPolicies(t *testing.T) {
	metrics.Register()
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(ctx)
		kube := kubefake.NewClientset()
		var failure atomic.Pointer[apierrors.StatusError]
		kube.PrependReactor("get", "validatingadmissionpolicybindings", func(clienttesting.Action) (bool, runtime.Object, error) {
			refusal := failure.Load()
			return refusal != nil, nil, refusal
		})
		p := NewPolicies(kube.AdmissionregistrationV1(), "second")
		if got := p.Warning(); got != "not checked yet" {
			t.Errorf("before the first check, the warning is %q", got)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		nextLook := func() { time.Sleep(policyInterval + policyInterval/5) }
		isNow := func(when, warning string, series map[string]float64) {
			t.Helper()
			synctest.Wait()
			if got := p.Warning(); (got == "") != (warning == "") || !strings.Contains(got, warning) {
				t.Errorf("%s: the warning is %q, want it to contain %q", when, got, warning)
			}
			if got := missingSeries(t); !maps.Equal(got, series) {
				t.Errorf("%s: the series are %v, want %v", when, got, series)
			}
		}
		add := func(name string) {
			for _, object := range ruleObjects(name) {
				if err := kube.Tracker().Add(object); err != nil {
					t.Fatal(err)
				}
			}
		}
		isNow("without rules", "second-pod-rights, so that", map[string]float64{"pod-rights": 1, "revision-rights": 1})
		add("second-pod-rights")
		nextLook()
		isNow("with one", "no ValidatingAdmissionPolicy second-revision-rights", map[string]float64{"pod-rights": 0, "revision-rights": 1})
		add("second-revision-rights")
		nextLook()
		isNow("with both", "", map[string]float64{"pod-rights": 0, "revision-rights": 0})
		failure.Store(apierrors.NewInternalError(errors.New("etcd is away")))
		nextLook()
		isNow("while the API server fails", "", map[string]float64{"pod-rights": 0, "revision-rights": 0})
		failure.Store(apierrors.NewForbidden(schema.GroupResource{Resource: "validatingadmissionpolicybindings"}, "second-pod-rights", errors.New("no")))
		nextLook()
		isNow("without the right", "not known whether the policies are in force: ", nil)

		kube.ClearActions()
		time.Sleep(time.Hour)
		if got := len(kube.Actions()); got > 12*2 || got < 10*2 { // each read ends at the first rule, which is forbidden
			t.Errorf("%d requests within an hour, want about one every five minutes", got)
		}
		stop()
		<-ended
	})
}

// A controller with rights in single namespaces reports that the rules are unknown, and sends no request.
func TestUnknownPolicies(t *testing.T) {
	p := UnknownPolicies()
	p.Run(t.Context()) // returns at once
	if got := p.Warning(); !strings.Contains(got, "not known whether the policies are in force, since the controller has no rights outside its namespaces") {
		t.Errorf("the warning is %q", got)
	}
	var none *Policies
	none.Run(t.Context())
}
