//go:build e2e

package conversion

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/apis/podmanager/v1alpha1"
)

const warning = "Warning: apps.mycompany.com/v1alpha1 PodManager is deprecated; use apps.mycompany.com/v1, where spec.size is spec.replicas, " +
	"and spec.command belongs to a container of spec.template"

// An object created in v1alpha1 is a v1 object with the defaults of v1, and its pods run.
func TestMadeInAlpha(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	wants(t, "apply", s.with(manifestOf("v1alpha1", "web", "{size: 2, image: 'app:1', command: [run, it]}"), "apply"), warning, "web created")
	s.awaitReady("web", 2)
	hub := s.Manager("web")
	same(t, "template", hub.Spec.Template.Spec.Containers, []corev1.Container{{Name: "app", Image: "app:1", Command: []string{"run", "it"}}})
	if *hub.Spec.ProgressDeadlineSeconds != v1.DefaultProgressDeadlineSeconds || hub.Spec.UpdateStrategy.Type != v1.RollingUpdateStrategy {
		t.Errorf("the defaults of v1 are missing: %+v", hub.Spec)
	}
	alpha := s.alpha("web")
	same(t, "spec", alpha.Spec, v1alpha1.PodManagerSpec{Size: ptr.To[int32](2), Image: "app:1", Command: []string{"run", "it"}})
	same(t, "nodes", alpha.Status.Nodes, []string{"web-0", "web-1"})
	if alpha.Status.ReadyNodes != 2 || alpha.UID != hub.UID || alpha.ResourceVersion != hub.ResourceVersion || alpha.Generation != hub.Generation {
		t.Errorf("the same object in v1alpha1 is %+v", alpha)
	}

	wants(t, "get", s.Kubectl("get", alphaName), warning, "NAME SIZE READY IMAGE AGE web 2 2 app:1")
	wants(t, "get in v1", s.Kubectl("get", "pm"), "NAME DESIRED CURRENT", "web 2 2")
	if out := s.Kubectl("get", "pm"); strings.Contains(out, "Warning") {
		t.Errorf("a client that does not ask for v1alpha1 is warned: %s", out)
	}
	wants(t, "explain", kubectl(t, "explain", "podmanager.spec", "--api-version=apps.mycompany.com/v1alpha1"),
		"size <integer> Size is the number of pods to keep running.", "command <[]string>", "image <string> -required-")
	wants(t, "scale", s.Kubectl("scale", alphaName, "web", "--replicas", "1"), "web scaled")
	s.awaitReady("web", 1)
	scale, err := shared.cluster.Managers.AppsV1alpha1().PodManagers(s.Name).GetScale(t.Context(), "web", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 || scale.Status.Selector != "podmanager=web" {
		t.Errorf("scale: %+v, %v", scale, err)
	}
}

// The API server refuses the same specs in v1alpha1 as in v1.
func TestAlphaRefuses(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	for spec, want := range map[string]string{
		"{size: 1}":                           "spec.image: Required value",
		"{size: 1, image: ''}":                "spec.image in body should be at least 1 chars long",
		"{size: -1, image: a}":                "spec.size in body should be greater than or equal to 0",
		"{size: 1, image: a, replicas: 5}":    `unknown field "spec.replicas"`,
		"{size: 1, image: a, command: run}":   "spec.command in body must be of type array",
		"{size: 1, image: a, command: [[x]]}": "spec.command[0] in body must be of type string",
	} {
		out, err := shared.cluster.KubectlWith(t.Context(), manifestOf("v1alpha1", "web", spec), "create", "-f", "-", "--namespace", s.Name)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want: %s", spec, err, want)
		}
	}
}

// A watch in v1alpha1 reports writes in v1, and vice versa, in the order of the writes.
func TestWatch(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	clients := shared.cluster.Managers
	alphas, err := clients.AppsV1alpha1().PodManagers(s.Name).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: ptr.To[int64](60)})
	if err != nil {
		t.Fatal(err)
	}
	defer alphas.Stop()
	hubs, err := clients.AppsV1().PodManagers(s.Name).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: ptr.To[int64](60)})
	if err != nil {
		t.Fatal(err)
	}
	defer hubs.Stop()
	s.with(manifestOf("v1", "web", "{replicas: 0, image: 'app:1', paused: true}"), "create")
	s.Kubectl("patch", alphaName, "web", "--type=merge", "-p", `{"spec":{"image":"app:2"}}`)
	s.Kubectl("patch", hubName, "web", "--type=merge", "-p", `{"spec":{"image":"app:3"}}`)
	s.Kubectl("delete", alphaName, "web")
	const want = "ADDED app:1, app:2, app:3, DELETED"
	if got := told(t, alphas, func(event watch.Event) string { return event.Object.(*v1alpha1.PodManager).Spec.Image }); got != want {
		t.Errorf("the watch in v1alpha1 reports %s, want %s", got, want)
	}
	if got := told(t, hubs, func(event watch.Event) string { return event.Object.(*v1.PodManager).Spec.Image }); got != want {
		t.Errorf("the watch in v1 reports %s, want %s", got, want)
	}
}

// told returns the images that a watch reports, each once, until the object is deleted.
func told(t *testing.T, events watch.Interface, image func(watch.Event) string) string {
	t.Helper()
	var seen []string
	for event := range events.ResultChan() {
		switch event.Type {
		case watch.Added:
			seen = append(seen, "ADDED "+image(event))
		case watch.Modified:
			if now := image(event); !strings.HasSuffix(seen[len(seen)-1], now) {
				seen = append(seen, now)
			}
		case watch.Deleted:
			return strings.Join(append(seen, "DELETED"), ", ")
		default:
			t.Fatalf("after %v: %+v", seen, event)
		}
	}
	return strings.Join(seen, ", ") + ", and no end"
}
