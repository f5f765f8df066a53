//go:build e2e

package simulation

import (
	"fmt"
	"strings"
	"testing"
)

const (
	merge     = "application/merge-patch+json"
	jsonPatch = "application/json-patch+json"
	strategic = "application/strategic-merge-patch+json"
)

// kind is a resource with an object of it.
type kind struct {
	path string
	// object is the object, with a formatting verb for metadata.
	object string
	// change is a merge patch that changes the object's generation, if it has one.
	change   string
	isCustom bool
}

var kinds = map[string]kind{
	"pods": {"/api/v1/namespaces/$NS/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{%s},` +
		`"spec":{"schedulerName":"none","serviceAccountName":"default","automountServiceAccountToken":false,"containers":[{"name":"a","image":"a"}]}}`, `{"spec":{"containers":[{"name":"a","image":"b"}]}}`, false},
	"podmanagers": {"/apis/apps.mycompany.com/v1/namespaces/$NS/podmanagers", `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{%s},` +
		`"spec":{"replicas":1,"image":"a"}}`, `{"spec":{"replicas":2}}`, true},
	"controllerrevisions": {"/apis/apps/v1/namespaces/$NS/controllerrevisions", `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{%s},"revision":1,"data":{"a":"b"}}`,
		`{"revision":2}`, false},
	"leases": {"/apis/coordination.k8s.io/v1/namespaces/$NS/leases", `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{%s},"spec":{"holderIdentity":"a"}}`,
		`{"spec":{"holderIdentity":"b"}}`, false},
}

// of returns the object with this metadata.
func (k kind) of(name, more string) string {
	return fmt.Sprintf(k.object, fmt.Sprintf(`"name":%q%s`, name, more))
}

func TestRequests(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.writes(k)
			p.patches(k)
			p.deletions(k)
			p.lists(k)
		})
	}
}

// writes sends creates and updates.
func (p *pair) writes(k kind) {
	a := k.path + "/a"
	for _, r := range []request{
		{Method: "GET", Path: a},
		{Method: "PATCH", Path: a, Type: merge, Body: `{}`},
		{Method: "DELETE", Path: a},
		{Method: "POST", Path: k.path, Body: k.of("a", `,"labels":{"app":"x"}`)},
		{Method: "POST", Path: k.path, Body: k.of("a", "")},
		{Method: "POST", Path: strings.Replace(k.path, "$NS", "missing", 1), Body: k.of("a", "")},
		{Method: "POST", Path: k.path, Body: k.of("dry", ""), About: "a"},
		{Method: "GET", Path: a},
		{Method: "PUT", Path: a, About: "a", Body: k.of("a", `,"resourceVersion":"$RV","labels":{"app":"y"}`)},
		{Method: "PUT", Path: a, About: "a", Body: k.of("a", `,"resourceVersion":"$OLD","labels":{"app":"z"}`)},
		{Method: "PUT", Path: a, About: "a", Body: k.of("a", `,"resourceVersion":"$RV","labels":{"app":"y"}`)}, // no change
		{Method: "PUT", Path: a, About: "a", Body: k.of("a", `,"resourceVersion":"$RV","uid":"00000000-0000-0000-0000-000000000000"`)},
		{Method: "PUT", Path: a, About: "a", Body: k.of("b", `,"resourceVersion":"$RV"`)},
		{Method: "PUT", Path: a + "x", About: "a", Body: k.of("ax", `,"resourceVersion":"$RV"`)},
		{Method: "GET", Path: k.path + "/missing"},
	} {
		p.same(r)
	}
}

// patches sends patches of all types.
func (p *pair) patches(k kind) {
	a := k.path + "/a"
	for _, r := range []request{
		{Method: "PATCH", Path: a, Type: merge, Body: k.change},
		{Method: "PATCH", Path: a, Type: merge, Body: k.change},
		{Method: "PATCH", Path: a, Type: merge, Body: `{"metadata":{"annotations":{"b":"c"}}}`},
		{Method: "PATCH", Path: a, Type: merge, Body: `{"metadata":{"annotations":{"b":null},"labels":{"x":"y"}}}`},
		{Method: "PATCH", Path: a, Type: merge, About: "a", Body: `{"metadata":{"resourceVersion":"$RV","labels":{"x":"z"}}}`},
		{Method: "PATCH", Path: a, Type: merge, About: "a", Body: `{"metadata":{"resourceVersion":"$OLD","labels":{"x":"0"}}}`},
		{Method: "PATCH", Path: a, Type: merge, About: "a", Body: `{"metadata":{"uid":"$UID","labels":{"x":"1"}}}`},
		{Method: "PATCH", Path: a, Type: jsonPatch, Body: `[{"op":"test","path":"/metadata/labels/x","value":"1"},{"op":"replace","path":"/metadata/labels/x","value":"2"}]`},
		{Method: "PATCH", Path: a, Type: jsonPatch, Body: `[{"op":"add","path":"/metadata/labels/w","value":"2"}]`},
		{Method: "PATCH", Path: a, Type: jsonPatch, Body: `[{"op":"remove","path":"/metadata/labels/w"}]`},
		{Method: "PATCH", Path: a, Type: strategic, Body: `{"metadata":{"labels":{"x":"3"}}}`},
		// The real garbage collector would delete an object whose owner is of a known kind but does not exist.
		{Method: "PATCH", Path: a, Type: strategic, About: "a", Body: `{"metadata":{"uid":"$UID","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Unknown","name":"o","uid":"11111111-1111-1111-1111-111111111111"}]}}`},
		{Method: "PATCH", Path: a, Type: strategic, Body: `{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"11111111-1111-1111-1111-111111111111"}]}}`},
		{Method: "PATCH", Path: k.path + "/missing", Type: merge, Body: `{"metadata":{"labels":{"x":"3"}}}`},
	} {
		p.same(r)
	}
}

// deletions sends deletions with preconditions and finalizers.
func (p *pair) deletions(k kind) {
	f := k.path + "/f"
	for _, r := range []request{
		{Method: "POST", Path: k.path, Body: k.of("f", `,"finalizers":["e2e.mycompany.com/wait"]`)},
		{Method: "DELETE", Path: f, Body: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`},
		{Method: "DELETE", Path: f, About: "f", Body: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"$UID"}}`},
		{Method: "GET", Path: f},
		{Method: "PATCH", Path: f, Type: merge, Body: `{"metadata":{"labels":{"still":"here"}}}`},
		{Method: "PATCH", Path: f, Type: merge, Body: `{"metadata":{"finalizers":["e2e.mycompany.com/wait","e2e.mycompany.com/more"]}}`},
		{Method: "DELETE", Path: f},
		{Method: "PATCH", Path: f, Type: merge, Body: `{"metadata":{"finalizers":null}}`},
		{Method: "GET", Path: f},
		{Method: "POST", Path: k.path, Body: k.of("g", "")},
		{Method: "DELETE", Path: k.path + "/g", About: "g", Body: `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"$UID"}}`},
		{Method: "GET", Path: k.path + "/g"},
		{Method: "DELETE", Path: k.path + "/g"},
	} {
		p.same(r)
	}
}

// lists sends lists with selectors.
func (p *pair) lists(k kind) {
	for i := range 4 {
		p.same(request{Method: "POST", Path: k.path, Body: k.of(fmt.Sprintf("l%d", i), fmt.Sprintf(`,"labels":{"n":"%d","odd":"%t"}`, i, i%2 == 1))})
	}
	for _, query := range []string{"", "?labelSelector=n", "?labelSelector=n%3D1", "?labelSelector=n+notin+(1,2)", "?labelSelector=%21n", "?labelSelector=odd%3Dtrue,n%21%3D1",
		"?fieldSelector=metadata.name%3Dl2", "?resourceVersion=0", "?limit=500", "?labelSelector=n+in+(0,3)&resourceVersion=0"} {
		p.same(request{Method: "GET", Path: k.path + query})
	}
	p.same(request{Method: "DELETE", Path: k.path + "?labelSelector=odd%3Dtrue", Body: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`})
	p.same(request{Method: "GET", Path: k.path + "?labelSelector=n"})
}

// Status and scale are separate subresources.
func TestSubresources(t *testing.T) {
	p := newPair(t)
	k := kinds["podmanagers"]
	a := k.path + "/a"
	for _, r := range []request{
		{Method: "POST", Path: k.path, Body: strings.Replace(k.of("a", ""), `"spec"`, `"status":{"replicas":7},"spec"`, 1)},
		{Method: "PATCH", Path: a, Type: merge, Body: `{"status":{"replicas":7}}`},
		{Method: "PATCH", Path: a + "/status", Type: merge, Body: `{"spec":{"replicas":9},"status":{"replicas":3,"selector":"a=b"},"metadata":{"labels":{"x":"y"}}}`},
		{Method: "PUT", Path: a + "/status", About: "a", Body: strings.Replace(k.of("a", `,"resourceVersion":"$RV"`), `"spec"`, `"status":{"replicas":4},"spec"`, 1)},
		{Method: "PUT", Path: a + "/status", About: "a", Body: strings.Replace(k.of("a", `,"resourceVersion":"$OLD"`), `"spec"`, `"status":{"replicas":5},"spec"`, 1)},
		{Method: "GET", Path: a},
		{Method: "GET", Path: a + "/scale"},
		{Method: "PATCH", Path: a + "/scale", Type: merge, Body: `{"spec":{"replicas":5}}`},
		{Method: "PATCH", Path: a + "/scale", Type: merge, Body: `{"spec":{"replicas":5}}`},
		{Method: "GET", Path: a},
		{Method: "GET", Path: "/apis/apps.mycompany.com/v1/namespaces/$NS/others"},
	} {
		p.same(r)
	}
}
