//go:build e2e

package upgrade

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// witness sees every version of all PodManagers, pods and ControllerRevisions of some namespaces, as they are stored. It uses no Go types, so it
// misses no field. It has a separate connection.
//
// When a CRD is replaced, the API server ends the watches of its objects and drops their history. The witness then lists them. Their
// resourceVersions are the ones that it knows, unless something was written in the meantime.
type witness struct {
	t         *testing.T
	resources []dynamic.ResourceInterface

	mu      sync.Mutex
	present map[types.UID]*unstructured.Unstructured
	// managers and pods are the present ones, decoded.
	managers map[types.UID]*v1.PodManager
	pods     map[types.UID]*corev1.Pod
	// changed is when a change was last seen.
	changed time.Time
	// held are the PodManagers, as namespace/name, whose objects must not change. before are these objects at the time of the freeze.
	held   map[string]bool
	before map[types.UID]*unstructured.Unstructured
	wrong  []string
}

// quiet is how long nothing must have changed for the cluster to be at rest.
const quiet = time.Second

func newWitness(t *testing.T, cluster *lab.Cluster, namespaces ...string) *witness {
	t.Helper()
	config := rest.CopyConfig(cluster.Config)
	config.Dial = (&net.Dialer{}).DialContext // otherwise client-go would share the connections of other clients
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, present: map[types.UID]*unstructured.Unstructured{}, held: map[string]bool{}, before: map[types.UID]*unstructured.Unstructured{},
		managers: map[types.UID]*v1.PodManager{}, pods: map[types.UID]*corev1.Pod{}}
	for _, namespace := range namespaces {
		for _, resource := range []schema.GroupVersionResource{
			{Group: v1.GroupName, Version: "v1", Resource: "podmanagers"}, {Version: "v1", Resource: "pods"},
			{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
		} {
			w.resources = append(w.resources, client.Resource(resource).Namespace(namespace))
		}
	}
	for _, each := range w.resources {
		go w.follow(t.Context(), each)
	}
	return w
}

// follow lists and watches a resource until the test ends.
func (w *witness) follow(ctx context.Context, resource dynamic.ResourceInterface) {
	known := map[types.UID]*unstructured.Unstructured{}
	for ; ctx.Err() == nil; lab.Pause(ctx, 50*time.Millisecond) {
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		lost := maps.Clone(known)
		for i := range list.Items {
			w.see(known, watch.Modified, &list.Items[i])
			delete(lost, list.Items[i].GetUID())
		}
		for _, object := range lost {
			w.see(known, watch.Deleted, object)
		}
		version := list.GetResourceVersion()
		for version != "" && ctx.Err() == nil {
			version = w.watch(ctx, resource, version, known)
		}
	}
}

// watch watches until the API server ends the watch, and returns the version to continue from; empty if there is none.
func (w *witness) watch(ctx context.Context, resource dynamic.ResourceInterface, version string, known map[types.UID]*unstructured.Unstructured) string {
	watching, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return ""
	}
	defer watching.Stop()
	for event := range watching.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return ""
		}
		version = object.GetResourceVersion()
		w.see(known, event.Type, object)
	}
	return version
}

// see handles a version of an object, and checks it if its PodManager must not change.
func (w *witness) see(known map[types.UID]*unstructured.Unstructured, event watch.EventType, object *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid, isGone := object.GetUID(), event == watch.Deleted
	if was := known[uid]; was != nil && was.GetResourceVersion() == object.GetResourceVersion() && !isGone {
		return
	}
	w.changed = time.Now()
	known[uid] = object
	if isGone {
		delete(known, uid)
	}
	w.note(object, isGone)
	if strings.Contains(fmt.Sprint(object.Object["status"]), v1.ReasonUndecodable) {
		w.complain(object, "is "+v1.ReasonUndecodable)
	}
	if isGone && w.held[subjectOf(object)] {
		w.complain(object, "is gone")
	} else if !isGone {
		w.compare(object)
	}
}

// compare compares an object that must not change with its state before.
func (w *witness) compare(object *unstructured.Unstructured) {
	if !w.held[subjectOf(object)] {
		return
	}
	before := w.before[object.GetUID()]
	if before == nil {
		w.complain(object, "was created")
		return
	}
	for _, change := range changes(before.Object, object.Object, mayChange) {
		w.complain(object, change)
	}
}

// note records the present version of an object, or that it is gone.
func (w *witness) note(object *unstructured.Unstructured, isGone bool) {
	uid := object.GetUID()
	if isGone {
		delete(w.present, uid)
		delete(w.managers, uid)
		delete(w.pods, uid)
		return
	}
	w.present[uid] = object
	var err error
	switch object.GetKind() {
	case v1.Kind:
		w.managers[uid] = &v1.PodManager{}
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, w.managers[uid])
	case "Pod":
		w.pods[uid] = &corev1.Pod{}
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, w.pods[uid])
	}
	if err != nil {
		w.complain(object, err.Error())
	}
}

// complain records a problem with an object once, because it shows in many versions.
func (w *witness) complain(object *unstructured.Unstructured, what string) {
	wrong := fmt.Sprintf("%s %s/%s: %s", object.GetKind(), object.GetNamespace(), object.GetName(), what)
	if !slices.Contains(w.wrong, wrong) {
		w.wrong = append(w.wrong, wrong)
	}
}

// subjectOf returns the PodManager that an object belongs to, as namespace/name.
func subjectOf(object *unstructured.Unstructured) string {
	return object.GetNamespace() + "/" + ownerOf(object.GetKind(), object.GetName())
}

// hold records the present objects of PodManagers as those that must not change.
func (w *witness) hold(subjects []*subject) {
	w.t.Helper()
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, each := range subjects {
		w.held[each.key()] = true
	}
	objects := 0
	for uid, object := range w.present {
		if w.held[subjectOf(object)] {
			objects++
			if w.before[uid] == nil {
				w.before[uid] = object
			}
		}
	}
	w.t.Logf("%d objects of %d PodManagers must not change", objects, len(w.held))
}

// release allows the objects of PodManagers to change again.
func (w *witness) release(subjects ...[]*subject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, each := range slices.Concat(subjects...) {
		delete(w.held, each.key())
	}
}

// settle waits until nothing changes any more, and the witness has seen everything. If something has changed that must not, settle returns at once:
// the cluster may never come to rest, and judge has enough to report.
func (w *witness) settle() {
	w.t.Helper()
	began := time.Now()
	harness.Await(w.t, "the cluster to be at rest", func() (any, bool) {
		w.mu.Lock()
		rest, seen := min(time.Since(began), time.Since(w.changed)), map[types.UID]string{}
		for uid, object := range w.present {
			seen[uid] = object.GetResourceVersion()
		}
		isWrong := len(w.wrong) > 0
		w.mu.Unlock()
		if isWrong {
			return nil, true
		}
		if rest < harness.Scaled(quiet) {
			return fmt.Sprintf("the last change was %v ago", rest), false
		}
		stored := map[types.UID]string{}
		for _, object := range w.list() {
			stored[object.GetUID()] = object.GetResourceVersion()
		}
		return fmt.Sprintf("stored are %v, seen are %v", stored, seen), maps.Equal(stored, seen)
	})
}

// list reads all objects.
func (w *witness) list() (all []unstructured.Unstructured) {
	w.t.Helper()
	for _, resource := range w.resources {
		list, err := resource.List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, list.Items...)
	}
	return all
}

// judge fails the test if something changed that must not. It reads all objects once more, because a field that the CRD no longer has disappears
// although no object was written.
func (w *witness) judge(when string) {
	w.t.Helper()
	w.settle()
	stored := w.list()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range stored {
		w.compare(&stored[i])
	}
	const most = 30 // problems to report
	for _, wrong := range w.wrong[:min(most, len(w.wrong))] {
		w.t.Errorf("%s: %s", when, wrong)
	}
	if more := len(w.wrong) - most; more > 0 {
		w.t.Errorf("%s: and %d more", when, more)
	}
	w.wrong = nil
}
