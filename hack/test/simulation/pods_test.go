//go:build e2e

package simulation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// sized returns a pod with requests and limits for CPU.
func sized(name, more, cpu string) string {
	body := kinds["pods"].of(name, more)
	return strings.Replace(body, `"image":"a"`, fmt.Sprintf(`"image":"a","resources":{"requests":{"cpu":%q},"limits":{"cpu":"1"}}`, cpu), 1)
}

// running is a patch of the status as a kubelet sends it.
const running = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`

// resizeTo returns a patch of the subresource resize.
func resizeTo(cpu string) string {
	return fmt.Sprintf(`{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
}

// Pods are bound, resized and evicted.
func TestPods(t *testing.T) {
	p := newPair(t)
	pods := kinds["pods"].path
	a, binding := pods+"/a", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"no-such-node"}}`
	eviction := `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}`
	for _, r := range []request{
		{Method: "POST", Path: pods, Body: sized("a", "", "100m")},
		{Method: "PATCH", Path: a, Type: strategic, Body: resizeTo("300m")}, // only the subresource may do that
		{Method: "PATCH", Path: a + "/resize", Type: strategic, Body: resizeTo("200m")},
		{Method: "PATCH", Path: a + "/resize", Type: strategic, Body: resizeTo("200m")},
		{Method: "PATCH", Path: a + "/resize", Type: strategic, Body: resizeTo("2")}, // more than the limit
		{Method: "PATCH", Path: pods + "/missing/resize", Type: strategic, Body: resizeTo("200m")},
		{Method: "POST", Path: pods + "/missing/binding", Body: binding},
		{Method: "POST", Path: pods + "/missing/binding", Body: strings.Replace(binding, `"a"`, `"missing"`, 1)},
		{Method: "POST", Path: a + "/binding", Body: binding},
		{Method: "POST", Path: a + "/binding", Body: binding},
		{Method: "PATCH", Path: a + "/status", Type: strategic, Body: running},
		{Method: "PATCH", Path: a + "/status", Type: strategic, Body: `{"spec":{"nodeName":"another"},"metadata":{"labels":{"x":"y"}}}`},
		{Method: "GET", Path: a},
		{Method: "POST", Path: pods + "/missing/eviction", Body: strings.Replace(eviction, `"a"`, `"missing"`, 1)},
		{Method: "POST", Path: a + "/eviction", Body: strings.Replace(eviction, `"name":"a"}`, `"name":"a"},"deleteOptions":{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`, 1)},
		{Method: "POST", Path: a + "/eviction", Body: eviction},
		{Method: "GET", Path: a},
		{Method: "POST", Path: a + "/eviction", Body: eviction},
	} {
		p.same(r)
	}
}

// A disruption budget that allows no eviction refuses one.
func TestEvictionOfProtectedPod(t *testing.T) {
	p := newPair(t)
	pods, budgets := kinds["pods"].path, "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets"
	p.same(request{Method: "POST", Path: pods, Body: kinds["pods"].of("a", `,"labels":{"app":"a"}`)})
	p.same(request{Method: "PATCH", Path: pods + "/a/status", Type: strategic, Body: running})
	p.same(request{Method: "POST", Path: budgets, Body: `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},` +
		`"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"a"}}}}`})
	// No controller computes the status in the simulation.
	observed := map[string]any{"observedGeneration": 1.0, "disruptionsAllowed": 0.0, "currentHealthy": 1.0, "desiredHealthy": 1.0, "expectedPods": 1.0}
	p.simulated.do(t, request{Method: "PATCH", Path: budgets + "/b/status", Type: merge,
		Body: `{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}`})
	p.awaitReal(budgets+"/b", observed)
	p.same(request{Method: "POST", Path: pods + "/a/eviction", Body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}`})
	p.same(request{Method: "GET", Path: pods + "/a"})
}

// A quota that is used up refuses the next pod.
func TestQuota(t *testing.T) {
	p := newPair(t)
	pods, quotas := kinds["pods"].path, "/api/v1/namespaces/$NS/resourcequotas"
	quota := request{Method: "POST", Path: quotas, Body: `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"pods":"2","requests.cpu":"300m"}}}`}
	for _, s := range []*server{p.real, p.simulated} {
		s.do(t, quota)
	}
	p.awaitReal(quotas+"/q", map[string]any{"hard": map[string]any{"pods": "2", "requests.cpu": "300m"}, "used": map[string]any{"pods": "0", "requests.cpu": "0"}})
	for _, r := range []request{
		{Method: "POST", Path: pods, Body: sized("a", "", "100m")},
		{Method: "POST", Path: pods, Body: sized("b", "", "250m")},
		{Method: "POST", Path: pods, Body: sized("c", "", "200m")},
		{Method: "POST", Path: pods, Body: sized("d", "", "100m")},
	} {
		p.same(r)
	}
}

// Long lists have pages.
func TestPages(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			for i := range 5 {
				p.same(request{Method: "POST", Path: k.path, Body: k.of(fmt.Sprintf("p%d", i), fmt.Sprintf(`,"labels":{"odd":"%t"}`, i%2 == 1))})
			}
			for _, query := range []string{"?limit=2", "?limit=2&labelSelector=odd%3Dfalse"} {
				p.same(request{Method: "GET", Path: k.path + query})
				p.same(request{Method: "POST", Path: k.path, Body: k.of("later"+fmt.Sprint(len(query)), "")}) // not part of the list that has begun
				p.same(request{Method: "GET", Path: k.path + query + "&continue=$CONTINUE"})
				p.same(request{Method: "GET", Path: k.path + query + "&continue=$CONTINUE&resourceVersion=1"})
			}
		})
	}
}

// Nothing is created in a namespace that is being deleted.
func TestNamespaceIsDeleted(t *testing.T) {
	p := newPair(t)
	pods := kinds["pods"].path
	p.same(request{Method: "POST", Path: pods, Body: kinds["pods"].of("a", `,"finalizers":["e2e.mycompany.com/wait"]`)})
	for _, s := range []*server{p.real, p.simulated} { // the answers differ: no controller sets conditions in the simulation
		if got, _ := s.do(t, request{Method: "DELETE", Path: "/api/v1/namespaces/$NS"}); got.Code != 200 {
			t.Fatalf("%s: %v", s.name, got)
		}
	}
	p.same(request{Method: "POST", Path: pods, Body: kinds["pods"].of("b", "")})
	p.same(request{Method: "POST", Path: kinds["podmanagers"].path, Body: kinds["podmanagers"].of("b", "")})
	p.same(request{Method: "PATCH", Path: pods + "/a", Type: merge, Body: `{"metadata":{"finalizers":null}}`})
}

// awaitReal waits until a controller of the real cluster has written these fields of a status.
func (p *pair) awaitReal(path string, want map[string]any) {
	p.t.Helper()
	harness.Await(p.t, "the status of "+path, func() (any, bool) {
		got, _ := p.real.do(p.t, request{Method: "GET", Path: path})
		status, _ := got.Body["status"].(map[string]any)
		for field, value := range want {
			if fmt.Sprint(status[field]) != fmt.Sprint(value) {
				return status, false
			}
		}
		return status, true
	})
}
