package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/check"
)

func TestParseNames(t *testing.T) {
	tests := map[string]struct{ arguments, want, err string }{
		"none":                  {"", "", ""},
		"a name":                {"web", "web", ""},
		"several":               {"web pm/api", "web api", ""},
		"in full":               {"podmanager.apps.mycompany.com/web podmanagers/api PodManager/db", "web api db", ""},
		"the kind comes first":  {"pm web api", "web api", ""},
		"one that is called pm": {"pm", "pm", ""},
		"another kind":          {"deployment/web", "", "deployment/web is not a PodManager"},
		"a kind alone":          {"pm/", "", "write NAME or pm/NAME"},
		"too much":              {"pm/web/x", "", "write NAME or pm/NAME"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseNames(strings.Fields(test.arguments))
			if strings.Join(got, " ") != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	if _, err := Name(""); err == nil {
		t.Error("an empty name should be refused")
	}
}

// Every error tells the user what to do.
func TestAdvise(t *testing.T) {
	resource := schema.GroupResource{Group: v1.GroupName, Resource: "podmanagers"}
	invalid := func(message string) error {
		return apierrors.NewInvalid(v1.GroupVersionKind.GroupKind(), "web", field.ErrorList{field.Invalid(field.NewPath("patch"), "", message)})
	}
	missing := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"}}
	tests := map[string]struct {
		err  error
		want string
	}{
		"no CRD": {missing, "install the CRD with kubectl apply -f artifacts/crd.yaml"},
		"no CRD for a name": {apierrors.NewGenericServerResponse(404, "get", resource, "web", "404 page not found", 0, true),
			"https://server does not serve PodManagers: install the CRD with kubectl apply -f artifacts/crd.yaml"},
		"no object":     {apierrors.NewNotFound(resource, "web"), "there is no PodManager web in namespace ns"},
		"not logged in": {apierrors.NewUnauthorized("no"), "log in again"},
		"forbidden": {apierrors.NewForbidden(resource, "web", errors.New(`User "jane" cannot patch resource "podmanagers" in API group "apps.mycompany.com" in the namespace "ns"`)),
			"; the role podmanager-edit (a Helm release may give it another name) grants this right: kubectl create rolebinding jane-podmanager-edit --clusterrole=podmanager-edit --user=jane --namespace=ns; " +
				"it grants no right to read PodManagers (podmanager-view does), nor to create pods, which the policy podmanager-pod-rights requires for a change of the pods; " +
				"the role edit grants all three: kubectl create rolebinding jane-edit --clusterrole=edit --user=jane --namespace=ns (run 'kubectl pm check' to see your rights)"},
		"another policy":    {apierrors.NewForbidden(resource, "web", errors.New("not on Fridays")), "not on Fridays (run 'kubectl pm check' to see your rights)"},
		"another client":    {apierrors.NewConflict(resource, "web", errors.New("no")), "try again"},
		"a test of a patch": {invalid("testing path /metadata/generation value failed: test failed"), "try again"},
		"another refusal":   {invalid("metadata.name is too long"), "metadata.name is too long"},
		"no server":         {&url.Error{Op: "Get", URL: "https://server", Err: errors.New("connection refused")}, "https://server cannot be reached: connection refused"},
		"anything else":     {errors.New("boom"), "boom"},
	}
	c := &Cluster{Server: "https://server"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := c.Advise(test.err, "ns"); !strings.Contains(got.Error(), test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
	if c.Advise(nil, "ns") != nil {
		t.Error("no error needs no advice")
	}
}

func TestOwnedBy(t *testing.T) {
	for want, names := range map[string][]string{"podmanager": nil, "podmanager=web": {"web"}, "podmanager in (web,api)": {"web", "api"}} {
		if got := ownedBy(Selection{Names: names}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The rules are found by their label, whatever name the chart gave them. A user who may not read them gets the API server's error.
func TestRules(t *testing.T) {
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: labels}
	}
	ours := map[string]string{"app.kubernetes.io/name": "podmanager"}
	objects := []runtime.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("second-pod-rights", ours)},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta("second-pod-rights", ours), Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "second-pod-rights", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("others-revision-rights", nil)},
	}
	kube := kubefake.NewClientset(objects...)
	c := &Cluster{Kube: kube}
	rules, err := c.rules(t.Context())
	if err != nil || rules[0].Missing != "" || rules[1].Missing != "there is no ValidatingAdmissionPolicy podmanager-revision-rights" {
		t.Errorf("got %+v, %v", rules, err)
	}
	kube.PrependReactor("list", "validatingadmissionpolicybindings", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "validatingadmissionpolicybindings"}, "", errors.New("no"))
	})
	if rules, err := c.rules(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("got %+v, %v", rules, err)
	}
}

// The Lease is the one that the flags of the controller name. The chart sets the flag in a release with another name.
func TestReadLeases(t *testing.T) {
	lease := func(name, holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	}
	c := &Cluster{Kube: kubefake.NewClientset(lease("podmanager-controller", "pod-1"), lease("second-controller", "3 shards"),
		lease("second-controller-shard-0-of-3", "pod-2"))}
	for args, want := range map[string]string{"-v=2": "podmanager-controller 0", "-leader-elect-resource-name=second-controller": "second-controller 1"} {
		f := check.Facts{Namespace: "ns", Controllers: []check.Controller{{Args: []string{args}}}}
		c.readLeases(t.Context(), &f)
		if f.LeaseError != nil || f.Lease == nil || fmt.Sprint(f.Lease.Name, " ", len(f.ShardLeases)) != want {
			t.Errorf("%s: got %+v and %d Leases of shards, want %s; %v", args, f.Lease, len(f.ShardLeases), want, f.LeaseError)
		}
	}
}

// A group version that the API server does not have has no resources. If discovery fails, nothing is known about them.
func TestResources(t *testing.T) {
	kube := kubefake.NewClientset()
	kube.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods"}}}}
	c := &Cluster{Kube: kube, Discovery: kube.Discovery()}
	for group, want := range map[string]string{"v1": "pods", v1.GroupName + "/v1": ""} {
		if names, err := c.resources(group); strings.Join(names, " ") != want || err != nil {
			t.Errorf("%s: got %v, %v", group, names, err)
		}
	}
	kube.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("no"))
	})
	if names, err := c.resources("v1"); !apierrors.IsInternalError(err) {
		t.Errorf("got %v, %v", names, err)
	}
}

// A Deployment that only serves webhooks is not a controller. A Deployment without a component label may be one.
func TestControllers(t *testing.T) {
	deployment := func(name string, labels map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels}}
	}
	const name, component = "app.kubernetes.io/name", "app.kubernetes.io/component"
	c := &Cluster{Kube: kubefake.NewClientset(
		deployment("a", map[string]string{name: "podmanager", component: "controller"}),
		deployment("b", map[string]string{name: "podmanager", component: "webhook"}),
		deployment("c", map[string]string{name: "podmanager"}),
		deployment("d", map[string]string{name: "other", component: "controller"}),
	)}
	found, err := c.controllers(t.Context(), "ns")
	if err != nil || len(found) != 2 || found[0].Name != "a" || found[1].Name != "c" {
		t.Errorf("got %+v, error %v, want a and c", found, err)
	}
}
