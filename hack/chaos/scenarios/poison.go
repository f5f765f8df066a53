package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// paceLimit is how long the controller may take to create, update or delete five pods, whatever other objects there are.
	paceLimit = 10 * time.Second
	// mostMemory is far above what a few objects need.
	mostMemory = 512 << 20
	crdName    = "podmanagers.apps.mycompany.com"
)

// poison creates objects that the controller cannot read, or that are hard to plan for. The controller must tell so in their statuses, and
// must serve other objects as before. The bad objects are in a namespace of their own: the oracle could not read them either.
func poison(a scene) {
	swamp := a.Namespace + "-swamp"
	defer a.impose(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", swamp))()
	a.startForAll()
	// If the other objects are not served, stop: the controller may be using up the machine.
	if a.goOn("before") && a.besideUndecodable(swamp) && a.besideExtreme(swamp) {
		a.Settle()
	}
	a.Judge()
}

// startForAll starts a controller for all namespaces, so that one informer has the good and the bad objects.
func (a scene) startForAll() {
	process, ready, err := a.Cluster.LaunchOurs("-v", "4", "-kubeconfig", a.Kubeconfig)
	a.Must(err)
	a.Process = process
	a.expect("I3", "controller", "the controller to be ready", 30*time.Second, func() (string, bool) { return process.Tail(3), ready() })
}

// goOn creates, updates and scales down an object, and tells whether each step took less than paceLimit.
func (a scene) goOn(name string) bool {
	for _, step := range []func(){
		func() { a.Create(name, 5, arena.OwnerOptions{}) },
		func() { a.Update(name, "nginx:1.28") },
		func() { a.Scale(name, 2) },
	} {
		step()
		began := time.Now()
		problems := a.AwaitSettled(paceLimit)
		for _, problem := range problems {
			problem.What = fmt.Sprintf("after %v: %s", paceLimit, problem.What)
			a.Violate(problem)
		}
		if len(problems) > 0 {
			a.Kill()
			return false
		}
		a.Run.Converged(time.Since(began))
	}
	a.mustLive(name)
	return true
}

// mustLive checks the process: that it runs, its memory, and its panics.
func (a scene) mustLive(when string) {
	wrong := func(format string, arguments ...any) {
		a.Violate(faults.Violation{Invariant: "I3", Object: "controller", What: when + ": " + fmt.Sprintf(format, arguments...)})
	}
	select {
	case <-a.Process.Exited:
		wrong("the controller has ended: %v\n%s", a.Process.Err, a.Process.Tail(5))
		return
	default:
	}
	usage, err := a.Process.Usage()
	a.Must(err)
	if usage.PeakRSS > mostMemory {
		wrong("the controller has taken %d MiB", usage.PeakRSS>>20)
	}
	response, err := http.Get("http://" + a.Process.Metrics + "/metrics")
	a.Must(err)
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	a.Must(err)
	if !strings.Contains(string(metrics), "\npodmanager_panics_total 0\n") {
		wrong("there were panics")
	}
	a.Logf("%s: the controller lives, with %d MiB at most", when, usage.PeakRSS>>20)
}

// undecodable are specs that do not fit the Go type, as a CRD of another version may allow, or that cost far more than their bytes. Each has
// words of the condition that tells so.
var undecodable = []struct{ name, spec, why string }{
	{"no-number", `{"replicas":"three","image":"nginx"}`, "spec.replicas"},
	{"long-number", `{"template":{"spec":{"containers":[{"name":"a","image":"nginx","resources":{"limits":{"cpu":"1e-999999999"}}}]}}}`, "limits.cpu"},
	{"many", `{"template":{"spec":{"containers":[{"name":"a","image":"nginx"}],"tolerations":[` + strings.Repeat("{},", 300_000) + `{}]}}}`, "too much memory"},
}

// besideUndecodable creates objects that cannot be decoded. A running controller must survive them, and so must a starting one.
func (a scene) besideUndecodable(swamp string) bool {
	const bad = `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":%q,"namespace":%q},"spec":%s}`
	manifest := func(i int) string { return fmt.Sprintf(bad, undecodable[i].name, swamp, undecodable[i].spec) }
	defer a.restoreCRD(manifest(0))
	a.loosenCRD()
	for i, object := range undecodable {
		a.Await("the loose schema to admit "+object.name, func() (string, bool) {
			out, err := a.Cluster.KubectlWith(a.Ctx, manifest(i), "create", "-f", "-")
			return out, err == nil
		})
	}
	for _, object := range undecodable {
		a.expect("I5", object.name, "the condition Stalled to tell that the object cannot be decoded", paceLimit, func() (string, bool) {
			out, err := a.Cluster.Kubectl(a.Ctx, "get", "podmanagers", object.name, "--namespace", swamp, "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")]}`)
			return out, err == nil && strings.Contains(out, v1.ReasonUndecodable) && strings.Contains(out, object.why)
		})
	}
	if !a.goOn("beside") {
		return false
	}
	a.Kill()
	a.startForAll()
	if !a.goOn("restarted") {
		return false
	}
	out, err := a.Cluster.Kubectl(a.Ctx, "delete", "podmanagers", "--all", "--namespace", swamp, "--timeout=20s")
	if err != nil {
		a.Violate(faults.Violation{Invariant: "I2", Object: swamp, What: "objects that cannot be decoded cannot be deleted: " + out})
	}
	return err == nil
}

// loosenCRD makes the CRD accept any value as the number of replicas, and any template.
func (a scene) loosenCRD() {
	out, err := a.Cluster.Kubectl(a.Ctx, "get", "crd", crdName, "-o", "json")
	a.Must(err)
	var crd map[string]any
	a.Must(json.Unmarshal([]byte(out), &crd))
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	spec := descend(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
	spec["replicas"] = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	descend(spec, "template", "properties")["spec"] = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	delete(descend(version, "subresources"), "scale") // the scale subresource needs a number
	data, err := json.Marshal(crd)
	a.Must(err)
	_, err = a.Cluster.KubectlWith(a.Ctx, string(data), "replace", "-f", "-")
	a.Must(err)
}

// descend goes down into an object.
func descend(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		object, _ = object[name].(map[string]any)
	}
	return object
}

// restoreCRD restores the real CRD, which all runs share, and waits until it refuses the bad object.
func (a scene) restoreCRD(bad string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.Ctx), time.Minute)
	defer cancel()
	_, err := a.Cluster.Kubectl(ctx, "replace", "-f", "artifacts/crd.yaml")
	a.Must(err)
	a.Await("the real schema to be in force", func() (string, bool) {
		out, err := a.Cluster.KubectlWith(ctx, bad, "apply", "--dry-run=server", "-f", "-")
		return out, err != nil
	})
}

// extremeCopies is how many objects there are of each kind: together more than workers.
const extremeCopies = 4

// extremes are specs with valid, extreme values.
func extremes() map[string]func(*v1.PodManagerSpec) {
	rolling := func(limits v1.RollingUpdate) func(*v1.PodManagerSpec) {
		return func(spec *v1.PodManagerSpec) { spec.UpdateStrategy.RollingUpdate = &limits }
	}
	return map[string]func(*v1.PodManagerSpec){
		"replicas":  func(*v1.PodManagerSpec) {},
		"budget":    rolling(v1.RollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(math.MaxInt32)), MaxUnavailable: ptr.To(intstr.FromInt32(math.MaxInt32))}),
		"percent":   rolling(v1.RollingUpdate{MaxSurge: ptr.To(intstr.FromString("100%")), MaxUnavailable: ptr.To(intstr.FromString("100%"))}),
		"partition": rolling(v1.RollingUpdate{Partition: ptr.To(intstr.FromInt32(math.MaxInt32 - 1))}),
		"in-place":  rolling(v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceOnly, InPlaceGracePeriodSeconds: math.MaxInt32}),
		"recreate":  func(spec *v1.PodManagerSpec) { spec.UpdateStrategy.Type = v1.RecreateStrategy },
		"times": func(spec *v1.PodManagerSpec) {
			spec.MinReadySeconds, spec.ProgressDeadlineSeconds = math.MaxInt32-1, ptr.To(int32(math.MaxInt32))
			spec.FailurePolicy = v1.FailurePolicy{OnFailure: v1.RollbackOnFailure, MaxFailedPods: ptr.To(intstr.FromInt32(math.MaxInt32)), GracePeriodSeconds: ptr.To(int32(math.MaxInt32 - 1))}
			spec.RevisionHistoryLimit, spec.FailedPodsHistoryLimit = ptr.To(int32(math.MaxInt32)), ptr.To(int32(math.MaxInt32))
		},
	}
}

// besideExtreme asks for as many pods as a number can say, of several objects, and then for a rollout.
func (a scene) besideExtreme(swamp string) bool {
	defer a.imposeQuota(swamp, 3)() // otherwise the pods would never end
	manage := arena.Ours(a.Cluster)
	var names []string
	for kind, set := range extremes() {
		for i := range extremeCopies {
			names = append(names, fmt.Sprintf("%s-%d", kind, i))
			a.Must(manage.Create(a.Ctx, swamp, names[len(names)-1], math.MaxInt32, arena.OwnerOptions{Spec: set}))
		}
	}
	if !a.goOn("extreme") {
		return false
	}
	for _, name := range names {
		a.Must(manage.Patch(a.Ctx, swamp, name, `{"spec":{"template":{"metadata":{"annotations":{"second":"yes"}}}}}`))
	}
	if !a.goOn("rollout") {
		return false
	}
	a.expect("I5", swamp, "all objects to have a status of their present generation", paceLimit, func() (string, bool) {
		list, err := a.Cluster.Managers.AppsV1().PodManagers(swamp).List(a.Ctx, metav1.ListOptions{})
		a.Must(err)
		for _, m := range list.Items {
			if m.Status.ObservedGeneration != m.Generation {
				return fmt.Sprintf("%s is at generation %d, and its status is of %d", m.Name, m.Generation, m.Status.ObservedGeneration), false
			}
		}
		return "", true
	})
	a.Must(a.Cluster.Managers.AppsV1().PodManagers(swamp).DeleteCollection(a.Ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	return a.expect("I2", swamp, "all objects to be gone", arena.SettleLimit/3, func() (string, bool) {
		list, err := a.Cluster.Managers.AppsV1().PodManagers(swamp).List(a.Ctx, metav1.ListOptions{})
		a.Must(err)
		return fmt.Sprint(len(list.Items)), len(list.Items) == 0
	})
}
