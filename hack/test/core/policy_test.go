//go:build e2e

package core

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/test/harness"
)

const podRightsPolicy, revisionPolicy, crdPolicy = "podmanager-pod-rights", "podmanager-revision-rights", "podmanager-crd-deletion"

// request is a call of kubectl, with its input.
type request struct{ what, input, arguments string }

// podChanges are all the ways to create a PodManager, or to change the pods that it creates. web has an image, long has a template.
var podChanges = []request{
	{"create", harness.Manifest("new-1", "", "{image: a}"), "create -f -"},
	{"a dry run", harness.Manifest("new-2", "", "{image: a}"), "create --dry-run=server -f -"},
	{"apply", harness.Manifest("new-3", "", "{image: a}"), "apply -f -"},
	{"server-side apply", harness.Manifest("new-4", "", "{image: a}"), "apply --server-side -f -"},
	{"no pods yet", harness.Manifest("new-5", "", "{replicas: 0, paused: true, image: a}"), "create -f -"},
	{"another image", "", `patch pm web --type=merge -p {"spec":{"image":"nginx:2"}}`},
	{"a restart", "", `patch pm web --type=merge -p {"spec":{"restartAt":"2026-01-01T00:00:00Z"}}`},
	{"no restart any more", "", `patch pm long --type=json -p [{"op":"remove","path":"/spec/restartAt"}]`},
	{"another template", "", `patch pm long --type=json -p [{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"b"}]`},
	{"a label of the pods", "", `patch pm long --type=merge -p {"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`},
	{"apply to it", harness.Manifest("web", "", "{image: 'nginx:3'}"), "apply -f -"},
	{"server-side apply to it", harness.Manifest("web", "", "{image: 'nginx:4'}"), "apply --server-side --force-conflicts -f -"},
	{"replace", harness.Manifest("web", "", "{image: 'nginx:5'}"), "replace -f -"},
	{"the long form", harness.Manifest("web", "", "{template: {spec: {containers: [{name: app, image: 'nginx:5'}]}}}"), "replace -f -"},
	{"the short form", harness.Manifest("long", "", "{image: a}"), "replace -f -"},
}

// otherChanges do not change the pods' template. They are made one after the other.
var otherChanges = []request{
	{"scale", "", "scale pm/web --replicas=0"},
	{"scale up", "", "scale pm/web --replicas=2"},
	{"the scale subresource", "", `patch pm web --subresource=scale --type=merge -p {"spec":{"replicas":1}}`},
	{"replicas", "", `patch pm web --type=merge -p {"spec":{"replicas":2}}`},
	{"the status", "", `patch pm web --subresource=status --type=merge -p {"status":{"image":"c"},"spec":{"image":"nginx:9"}}`},
	{"labels and annotations", "", `patch pm web --type=merge -p {"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`},
	{"a finalizer", "", `patch pm web --type=merge -p {"metadata":{"finalizers":["example.com/hold"]}}`},
	{"no finalizer", "", `patch pm web --type=merge -p {"metadata":{"finalizers":null}}`},
	{"pause", "", `patch pm web --type=merge -p {"spec":{"paused":true}}`},
	{"a partition", "", `patch pm web --type=merge -p {"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`},
	{"the same image", "", `patch pm web --type=merge -p {"spec":{"image":"nginx:1"}}`},
	{"replace with the same", harness.Manifest("web", "", "{image: 'nginx:1'}"), "replace -f -"},
	{"the same template", harness.Manifest("long", "", "{replicas: 2, "+longTemplate+"}"), "replace -f -"},
	{"server-side apply", harness.Manifest("web", "", "{replicas: 1}"), "apply --server-side --force-conflicts --field-manager=scaler -f -"},
	{"delete", "", "delete pm web --wait=false"},
}

const longTemplate = "restartAt: 2026-02-03T04:05:06Z, template: {metadata: {labels: {app: long}}, spec: {containers: [{name: a, image: a}]}}"

// A user who may write PodManagers, but not create pods, can do everything except create a PodManager or change its template. A user who may also
// create pods can do everything.
func TestPodRights(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'nginx:1'}")
	s.apply("long", "{replicas: 1, "+longTemplate+"}")
	s.grant("jane", "create,get,list,patch,update,delete", "podmanagers", "podmanagers/scale", "podmanagers/status")
	s.grant("paul", "create,get,list,patch,update,delete", "podmanagers", "pods")
	s.awaitPodRights("jane")
	before := s.Manager("web").Generation
	for _, change := range podChanges {
		out, err := s.as("jane", change)
		if want := refusal("jane", s.Name); err == nil || !strings.HasSuffix(strings.TrimSpace(out), want) || !strings.Contains(out, "(Forbidden)") {
			t.Errorf("%s, without a right to pods: %v\n%s\nwant: %s", change.what, err, out, want)
		}
	}
	if got := s.Manager("web").Generation; got != before {
		t.Errorf("generation %d, was %d, although all was refused", got, before)
	}
	for _, change := range otherChanges {
		if out, err := s.as("jane", change); err != nil {
			t.Errorf("%s, without a right to pods: %v\n%s", change.what, err, out)
		}
		if got := strings.TrimSpace(s.Kubectl("get", "pm", "web", "--ignore-not-found", "-o", "jsonpath={.spec.image}")); got != "nginx:1" && change.what != "delete" {
			t.Errorf("%s has changed the image to %q", change.what, got)
		}
	}

	s.apply("web", "{replicas: 1, image: 'nginx:1'}")
	s.apply("long", "{replicas: 1, "+longTemplate+"}")
	for _, change := range podChanges {
		if out, err := s.as("paul", change); err != nil {
			t.Errorf("%s, with a right to pods: %v\n%s", change.what, err, out)
		}
	}
}

// A permission for pods counts only in its namespace, and the built-in role edit includes it. The test compares the whole message, because users see
// nothing else.
func TestPodRightsOfNamespace(t *testing.T) {
	s := newSpace(t)
	other := newSerialSpace(t)
	for _, space := range []*space{s, other} {
		space.Kubectl("create", "rolebinding", "paul", "--clusterrole=podmanager-edit", "--user=paul")
		space.awaitPodRights("paul")
	}
	s.grant("paul", "create", "pods")
	s.Kubectl("create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann")
	create := request{"create", harness.Manifest("web", "", "{image: nginx}"), "create --dry-run=server -f -"}
	for _, user := range []string{"paul", "ann"} {
		s.Await(user+" to have the right", func() (any, bool) {
			out, err := s.as(user, create)
			return out, err == nil
		})
	}
	out, err := other.as("paul", create)
	want := `Error from server (Forbidden): error when creating "STDIN": podmanagers.apps.mycompany.com "web" is forbidden: ` +
		`ValidatingAdmissionPolicy 'podmanager-pod-rights' with binding 'podmanager-pod-rights' denied request: ` +
		`user "paul" may not create pods in namespace "` + other.Name + `", and a PodManager would do it for them: ` +
		`ask for a role with create on pods there, such as edit, or have it applied by a user who has one`
	if err == nil || strings.TrimSpace(out) != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, out, want)
	}
}

// The API server's type checking finds no problem in the policies. It would find a field that does not exist.
func TestPolicyTypes(t *testing.T) {
	s := newSpace(t)
	s.checksTypes(podRightsPolicy, "")
	s.checksTypes(podRightsPolicy, "undefined field 'imagge'", ".?image", ".?imagge")
	s.checksTypes(revisionPolicy, "")
	s.checksTypes(revisionPolicy, "undefined field 'version'", "object.revision", "object.version")
	s.checksTypes(crdPolicy, "")
	s.checksTypes(crdPolicy, "undefined field 'notes'", ".?annotations", ".?notes")
}

// checksTypes copies a policy with some texts replaced, given as pairs of old and new, and checks the API server's type warnings. The copy has no
// binding, so it has no effect.
func (s *space) checksTypes(name, want string, change ...string) {
	s.T.Helper()
	var policy map[string]any
	data := strings.NewReplacer(change...).Replace(s.Kubectl("get", "validatingadmissionpolicy", name, "-o", "yaml"))
	if err := yaml.Unmarshal([]byte(data), &policy); err != nil {
		s.T.Fatal(err)
	}
	duplicate := fmt.Sprintf("%s-%s-%d", s.Name, name, len(change))
	policy["metadata"], policy["status"] = map[string]any{"name": duplicate}, nil
	input, err := yaml.Marshal(policy)
	if err != nil {
		s.T.Fatal(err)
	}
	if out, err := s.TryKubectl(string(input), "create", "-f", "-"); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	s.T.Cleanup(func() {
		_, _ = s.Cluster.Kubectl(context.Background(), "delete", "validatingadmissionpolicy", duplicate)
	})
	s.Await("the types of "+duplicate+" to be checked", func() (any, bool) {
		out := s.Kubectl("get", "validatingadmissionpolicy", duplicate, "-o", "jsonpath={.status.observedGeneration} {.status.typeChecking.expressionWarnings}")
		observed, warnings, _ := strings.Cut(out, " ")
		return out, observed == "1" && (want == "" && warnings == "" || want != "" && strings.Contains(warnings, want))
	})
}

// grant grants a user verbs on our resources or on others, such as pods, in the namespace.
func (s *space) grant(user, verbs string, resources ...string) {
	s.T.Helper()
	for i, resource := range resources {
		if name, subresource, found := strings.Cut(resource, "/"); name == "podmanagers" {
			resources[i] = name + ".apps.mycompany.com"
			if found {
				resources[i] += "/" + subresource
			}
		}
	}
	role := user + "-" + strings.ReplaceAll(verbs, ",", "-")
	s.Kubectl("create", "role", role, "--verb="+verbs, "--resource="+strings.Join(resources, ","))
	s.Kubectl("create", "rolebinding", role, "--role="+role, "--user="+user)
}

// as makes a request as a user. No argument may contain a space. kubectl replace reads the object before it writes it. If the controller writes the
// status between the two, as runs kubectl again.
func (s *space) as(user string, what request) (out string, err error) {
	for range 10 {
		out, err = s.TryKubectl(what.input, append(strings.Fields(what.arguments), "--as", user)...)
		if err == nil || !strings.Contains(out, "the object has been modified") {
			break
		}
	}
	return out, err
}

// awaitPodRights waits until a user has the permission to create PodManagers and the policy refuses it, which takes some seconds.
func (s *space) awaitPodRights(user string) {
	s.T.Helper()
	s.Await("the policy to be in force", func() (any, bool) {
		out, err := s.as(user, request{"", harness.Manifest("probe", "", "{image: a}"), "create --dry-run=server -f -"})
		return out, err != nil && strings.Contains(out, podRightsPolicy)
	})
}

func refusal(user, namespace string) string {
	return fmt.Sprintf(`user %q may not create pods in namespace %q, and a PodManager would do it for them: `+
		`ask for a role with create on pods there, such as edit, or have it applied by a user who has one`, user, namespace)
}
