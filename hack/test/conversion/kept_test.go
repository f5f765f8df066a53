//go:build e2e

package conversion

import (
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// made creates a PodManager in v1 with many fields that v1alpha1 does not have, and waits until the controller has seen it. It has no pods, so
// that its status does not change.
func (s *space) made(name string) *v1.PodManager {
	s.T.Helper()
	data, err := os.ReadFile("artifacts/examples/full.yaml")
	if err != nil {
		s.T.Fatal(err)
	}
	manager := &v1.PodManager{}
	if err := yaml.UnmarshalStrict(data, manager); err != nil {
		s.T.Fatal(err)
	}
	manager.Name, manager.Namespace, manager.Spec.Replicas = name, s.Name, ptr.To[int32](0)
	for _, constraint := range manager.Spec.Template.Spec.TopologySpreadConstraints {
		constraint.LabelSelector.MatchLabels[v1.LabelManager] = name
	}
	if _, err := shared.cluster.Managers.AppsV1().PodManagers(s.Name).Create(s.T.Context(), manager, metav1.CreateOptions{FieldManager: "maker"}); err != nil {
		s.T.Fatal(err)
	}
	return s.settled(name)
}

// settled returns a PodManager of v1 once the controller has seen its spec.
func (s *space) settled(name string) *v1.PodManager {
	s.T.Helper()
	s.awaitReady(name, 0)
	return s.Manager(name)
}

const otherImage = "app:other"

// Whichever way a user of v1alpha1 changes the image, nothing else of v1 changes, and the generation increases by one.
func TestEveryWriteKeepsWhatOnlyV1CanSay(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	alphas := shared.cluster.Managers.AppsV1alpha1().PodManagers(s.Name)
	short := func(name string) string { return manifestOf("v1alpha1", name, "{size: 0, image: '"+otherImage+"'}") }
	for name, write := range map[string]func(name string){
		"merge-patch": func(name string) {
			s.Kubectl("patch", alphaName, name, "--type=merge", "-p", `{"spec":{"image":"`+otherImage+`"}}`)
		},
		"json-patch": func(name string) {
			s.Kubectl("patch", alphaName, name, "--type=json", "-p", `[{"op":"replace","path":"/spec/image","value":"`+otherImage+`"}]`)
		},
		"apply":       func(name string) { s.with(short(name), "apply") },
		"apply-twice": func(name string) { s.with(short(name), "apply"); s.with(short(name), "apply") },
		"server-side-apply": func(name string) {
			s.with(short(name), "apply", "--server-side", "--force-conflicts")
		},
		"replace": func(name string) { s.with(short(name), "replace") }, // without a status, annotations and labels
		"a-program": func(name string) {
			manager := s.alpha(name)
			manager.Spec.Image = otherImage
			if _, err := alphas.Update(t.Context(), manager, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"edited-status": func(name string) { // the API server ignores the status in a write of the spec
			s.Kubectl("patch", alphaName, name, "--type=merge", "-p", `{"spec":{"image":"`+otherImage+`"},"status":{"v1Spec":"{}","nodes":["x"],"v1Status":null}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.made(name)
			write(name)
			want := before.DeepCopy()
			want.Spec.Template.Spec.Containers[0].Image = otherImage
			after := s.settled(name)
			same(t, "spec", after.Spec, want.Spec)
			if after.Generation != before.Generation+1 {
				t.Errorf("the generation was %d and is %d", before.Generation, after.Generation)
			}
			same(t, "image in the status", after.Status.Image, otherImage)
			if after.Status.UpdateRevision == before.Status.UpdateRevision || after.Status.CollisionCount != before.Status.CollisionCount || after.Status.Selector != before.Status.Selector {
				t.Errorf("the status was %+v and is %+v", before.Status, after.Status)
			}
			if _, isKept := after.Annotations["apps.mycompany.com/v1"]; isKept || strings.Contains(fmt.Sprint(after.Annotations), "v1Spec") {
				t.Errorf("annotations of the conversion are stored: %v", after.Annotations)
			}
		})
	}
}

// A user exports a manifest in v1alpha1, and another user then changes the object in v1. Applying the manifest changes only the fields that it has.
func TestStaleExport(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	s.made("web")
	export := map[string]any{}
	if err := yaml.Unmarshal([]byte(s.Kubectl("get", alphaName, "web", "-o", "yaml", "--warnings-as-errors=false")[len(warning)+1:]), &export); err != nil {
		t.Fatal(err)
	}
	delete(export["metadata"].(map[string]any), "resourceVersion")
	export["spec"].(map[string]any)["image"] = otherImage
	manifest, err := yaml.Marshal(export)
	if err != nil {
		t.Fatal(err)
	}
	s.Kubectl("patch", hubName, "web", "--type=merge", "-p", `{"spec":{"paused":true,"minReadySeconds":33}}`)
	for _, arguments := range [][]string{{"apply"}, {"replace"}} {
		s.with(string(manifest), arguments...)
		after := s.Manager("web")
		if after.Spec.Template.Spec.Containers[0].Image != otherImage || !after.Spec.Paused || after.Spec.MinReadySeconds != 33 {
			t.Errorf("after kubectl %v: %+v", arguments, after.Spec)
		}
	}
}

// A user who may write the status but not the spec cannot change the spec through the fields kept in the status.
func TestStatusWriterCannotChangeSpec(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	before := s.made("web")
	const refusal = "status.v1Spec is what version v1 says in spec; leave it as it is, and change spec in apps.mycompany.com/v1"
	for _, patch := range []string{`{"status":{"v1Spec":"{\"image\":\"evil\"}"}}`, `{"status":{"v1Spec":null}}`, `{"status":null}`} {
		s.refused(refusal, "patch", alphaName, "web", "--subresource=status", "--type=merge", "-p", patch)
	}
	s.Kubectl("patch", alphaName, "web", "--subresource=status", "--type=merge", "-p", `{"spec":{"image":"evil"},"status":{"nodes":["x"]}}`)
	after := s.Manager("web")
	same(t, "spec", after.Spec, before.Spec)
	if after.Generation != before.Generation {
		t.Errorf("the generation is %d", after.Generation)
	}
}

// Server-side apply knows the owner of a field, whatever version it was written in.
func TestConflictsAcrossVersions(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	s.made("web")
	out, err := shared.cluster.KubectlWith(t.Context(), manifestOf("v1alpha1", "web", "{size: 0, image: '"+otherImage+"'}"),
		"apply", "--server-side", "-f", "-", "--namespace", s.Name)
	if err == nil {
		t.Fatal("the apply succeeded, although the image belongs to another field manager")
	}
	wants(t, "conflict", out, `conflict with "maker" using apps.mycompany.com/v1: .spec.template.spec.containers[name="nginx"].image`)
	s.with(manifestOf("v1alpha1", "web", "{size: 0, image: '"+otherImage+"'}"), "apply", "--server-side", "--force-conflicts", "--field-manager=alpha")
	out, err = shared.cluster.KubectlWith(t.Context(), manifestOf("v1", "web", "{template: {spec: {containers: [{name: nginx, image: 'app:mine'}]}}}"),
		"apply", "--server-side", "--field-manager=hub", "-f", "-", "--namespace", s.Name)
	if err == nil {
		t.Fatal("the apply succeeded, although the image now belongs to another field manager")
	}
	wants(t, "conflict", out, `conflict with "alpha": .spec.image`)
}

// A spec that would not fit into an annotation is read and written like any other.
func TestLargeSpec(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	before := s.made("web")
	large := before.DeepCopy()
	large.Spec.Template.Spec.Containers[0].Args = []string{strings.Repeat("x", 400<<10)}
	if _, err := shared.cluster.Managers.AppsV1().PodManagers(s.Name).Update(t.Context(), large, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Kubectl("patch", alphaName, "web", "--type=merge", "-p", `{"spec":{"image":"`+otherImage+`"}}`)
	large.Spec.Template.Spec.Containers[0].Image = otherImage
	same(t, "spec", s.Manager("web").Spec, large.Spec)
}
