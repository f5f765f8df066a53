//go:build e2e

package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A user who may write ControllerRevisions and PodManagers, but not create pods, can neither create a revision nor add our annotations to one.
// Otherwise the user could replace the revision of pods that a partition keeps, and so choose their template. A user who may also create pods can do
// both. The policy does not affect revisions of other controllers. No user can change the template of an existing revision.
func TestRevisionRights(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'nginx:1'}")
	s.awaitReady("web", 1)
	const all, revisions = "create,get,list,patch,update,delete", "controllerrevisions.apps"
	s.grant("jane", all, "podmanagers", revisions)
	s.grant("paul", all, "podmanagers", revisions, "pods")
	s.awaitCurrent()
	current := s.Manager("web").Status.CurrentRevision
	forged := s.forge(current, "nginx:evil")
	patch := func(what, patch string) request {
		return request{what, "", "patch " + revisions + " " + current + " --type=merge -p " + patch}
	}
	forbidden := []request{
		patch("a mark", `{"metadata":{"annotations":{"`+v1.AnnotationFailed+`":"true"}}}`),
		patch("another revision's label", `{"metadata":{"labels":{"`+v1.LabelRevision+`":"abc"}}}`),
		patch("another number", `{"revision":7}`),
		{"one of its own", strings.ReplaceAll(forged, current, "web-forged"), "create -f -"},
	}
	s.Await("the policy to be in force", func() (any, bool) {
		out, err := s.as("jane", request{"", strings.ReplaceAll(forged, current, "probe"), "create --dry-run=server -f -"})
		return out, err != nil && strings.Contains(out, revisionPolicy)
	})
	want := fmt.Sprintf(`user "jane" may not create pods in namespace %q, and a PodManager would make them from this revision`, s.Name)
	for _, change := range forbidden {
		if out, err := s.as("jane", change); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s, without a right to pods: %v\n%s", change.what, err, out)
		}
	}
	for _, change := range []request{
		patch("a finalizer", `{"metadata":{"finalizers":["example.com/hold"]}}`),
		patch("no finalizer", `{"metadata":{"finalizers":null}}`),
		{"one that is not ours", strings.NewReplacer(current, "other", v1.LabelManager+`"`, `team"`).Replace(forged), "create -f -"},
	} {
		if out, err := s.as("jane", change); err != nil {
			t.Errorf("%s, without a right to pods: %v\n%s", change.what, err, out)
		}
	}
	// The complete attack: the user deletes the revision, but cannot create it again with another template. The deletion needs no permission for
	// pods.
	if out, err := s.as("jane", request{"", "", "delete " + revisions + " " + current}); err != nil {
		t.Errorf("delete: %v\n%s", err, out)
	}
	if out, err := s.as("jane", request{"", forged, "create -f -"}); err == nil || !strings.Contains(out, want) && !strings.Contains(out, "AlreadyExists") {
		t.Errorf("create again: %v\n%s", err, out)
	}
	for _, change := range forbidden {
		s.Await("paul to be allowed: "+change.what, func() (any, bool) {
			out, err := s.as("paul", change)
			return out, err == nil
		})
	}
}

// forge returns the manifest of a stored revision, with another image.
func (s *space) forge(name, image string) string {
	s.T.Helper()
	var stored map[string]any
	if err := json.Unmarshal([]byte(s.Kubectl("get", "controllerrevision", name, "-o", "json")), &stored); err != nil {
		s.T.Fatal(err)
	}
	metadata := stored["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(metadata, field)
	}
	data, err := json.Marshal(stored)
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.ReplaceAll(string(data), `"nginx:1"`, fmt.Sprintf("%q", image))
}
