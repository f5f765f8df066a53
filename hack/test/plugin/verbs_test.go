//go:build e2e

package plugin

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hasty is a policy under which a revision is good as soon as its pods are available.
const hasty = "failurePolicy: {gracePeriodSeconds: 0}"

// After two revisions, every verb that reads is tried.
func TestLook(t *testing.T) {
	s := newSpace(t)
	s.refused(1, "there is no PodManager web in namespace", "get", "web")
	if got := s.try("get"); got.code != 0 || got.out != "" || !strings.Contains(got.err, "No PodManagers found in namespace "+s.Name) {
		t.Errorf("an empty namespace: %v", got)
	}
	s.apply("web", "{replicas: 2, image: 'app:1', "+hasty+"}")
	s.pm("status", "web", "--timeout", "1m")
	s.golden("set image", s.pm("set", "image", "pm/web", "app=app:2", "--cause", "the second"), "podmanager.apps.mycompany.com/web image updated: app:2, was app:1")
	s.pm("status", "web", "--timeout", "1m")
	s.Await("the old pods to be gone", func() (any, bool) {
		out := s.pm("get", "web")
		return out, !strings.Contains(out, "Terminating") && strings.Contains(out, "0 terminating")
	})

	s.golden("history", s.pm("history", "podmanagers.apps.mycompany.com/web"), `
REVISION HASH AGE STATE PODS IMAGES CHANGE-CAUSE
2 HASH AGE current 2 app:2 the second
1 HASH AGE 0 app:1 <none>`)
	s.golden("diff", s.pm("diff", "web"), `
revision 1 -> revision 2
FIELD FROM TO HOW
spec.containers[app].image app:1 app:2 new pod
Pods are replaced: podUpdatePolicy is Recreate.`)
	s.golden("diff of two", s.pm("diff", "web", "2", "1"), `
revision 2 -> revision 1
FIELD FROM TO HOW
spec.containers[app].image app:2 app:1 new pod
Pods are replaced: podUpdatePolicy is Recreate.`)
	manifest := "apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: web}\nspec:\n  template:\n    metadata: {labels: {a: b}}\n" +
		"    spec: {containers: [{name: app, image: 'app:2', ports: [{containerPort: 80}]}]}\n"
	s.golden("diff with a file", s.tryWith(manifest, "diff", "web", "-f", "-").out, `
the current template -> -
FIELD FROM TO HOW
metadata.labels.a <none> b with the new pod
spec.containers[app].ports <none> [{"containerPort":80,"protocol":"TCP"}] new pod
Pods are replaced: template.spec.containers[0].ports differs.`)
	s.golden("why", s.pm("why", "web"), "Nothing blocks it: 2 of 2 pods available.")
	s.golden("a list", s.pm("get", "-l", "team=a"), "NAME STATE DESIRED UPDATED AVAILABLE AGE IMAGES MESSAGE\nweb AllReplicasAvailable 2 2 2 AGE app:2")

	names := strings.Fields(s.pm("get", "web", "-o", "jsonpath={.status.podNames[*]}"))
	s.golden("get", s.pm("get", "web"), `
Name: web
Namespace: NAMESPACE
Status: AllReplicasAvailable
Message: 2 of 2 pods available
Strategy: RollingUpdate, at most 1 pod more and 0 unavailable
On failure: Halt at 1 failed pod, AGE to recover
Images: app:2
Pods: 2 wanted, 2 exist, 2 updated, 2 ready, 2 available, 0 terminating

NAME STATE READY RESTARTS AGE NODE DETAIL
web AllReplicasAvailable 2/2 AGE
└─ revision 2 (current) AGE app:2, 2 pods
 ├─ `+names[0]+` Available 1/1 0 AGE NODE
 └─ `+names[1]+` Available 1/1 0 AGE NODE`)
	s.outputs()
}

// outputs checks the output formats for scripts.
func (s *space) outputs() {
	s.T.Helper()
	for arguments, want := range map[string]string{
		"get -o name": "podmanager.apps.mycompany.com/web",
		"get web -o jsonpath={.kind}/{.spec.image}":             "PodManager/app:2",
		"get -o jsonpath={.kind}{.items[*].metadata.name}":      "PodManagerListweb",
		"status web -o jsonpath={.metadata.name}":               "web",
		"why web -o jsonpath={.reason}":                         "AllReplicasAvailable",
		"history web -o jsonpath={.items[*].revision}":          "2 1",
		"diff web -o jsonpath={.fields[0].path}":                "spec.containers[app].image",
		"check web -o jsonpath={[0].result}":                    "ok",
		"pause web --dry-run=server -o jsonpath={.spec.paused}": "true",
	} {
		s.golden(arguments, s.pm(strings.Fields(arguments)...), want)
	}
	if out := s.pm("get", "web", "-o", "yaml"); !strings.Contains(out, "kind: PodManager\n") || strings.Contains(out, "managedFields") {
		s.T.Errorf("-o yaml: %s", out)
	}
	s.refused(1, "use json, yaml, name or jsonpath=TEMPLATE", "get", "-o", "wide")
	s.refused(1, "unknown flag: --frobnicate", "get", "--frobnicate")
	s.refused(1, "deployment/web is not a PodManager", "get", "deployment/web")
	s.refused(1, `unknown command "frobnicate"`, "frobnicate")
	s.refused(1, "web has no revision 7; there are 2, 1", "undo", "web", "--to-revision", "7")
}

// undo shows what it does and keeps the rest of the spec. A second undo reverts the first.
func TestUndo(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: 'app:1', minReadySeconds: 0, "+hasty+"}")
	s.pm("status", "web", "--timeout", "1m")
	s.pm("set", "image", "web", "app=app:2", "--cause", "the second")
	s.pm("status", "web", "--timeout", "1m")
	before := s.Manager("web")
	for _, dryRun := range []string{"--dry-run", "--dry-run=client", "--dry-run=server"} {
		if out := s.pm("undo", "web", dryRun); !strings.Contains(out, "undone, to revision 1 (") {
			t.Errorf("%s: %s", dryRun, out)
		}
	}
	if after := s.Manager("web"); after.Generation != before.Generation {
		t.Fatalf("a dry run has changed the spec: %+v", after.Spec)
	}
	s.golden("undo", s.pm("undo", "web"), `
revision 2 -> revision 1
FIELD FROM TO HOW
spec.containers[app].image app:2 app:1 new pod
Pods are replaced: podUpdatePolicy is Recreate.
podmanager.apps.mycompany.com/web undone, to revision 1`)
	s.pm("status", "web", "--timeout", "1m")
	if undone := s.Manager("web"); undone.Spec.Image != "app:1" || *undone.Spec.Replicas != 2 {
		t.Errorf("undone: %+v", undone.Spec)
	}
	s.pm("undo", "web")
	s.pm("status", "web", "--timeout", "1m")
	if back := s.Manager("web"); back.Spec.Image != "app:2" || back.Status.CurrentRevision != before.Status.CurrentRevision {
		t.Errorf("undo after undo: %+v", back)
	}
	s.golden("history", s.pm("history", "web"), `
REVISION HASH AGE STATE PODS IMAGES CHANGE-CAUSE
4 HASH AGE current 2 app:2 the second
3 HASH AGE 0 app:1 <none>`)
}

// undo warns if Flux owns the field and will revert the change.
func TestUndoOfWhatFluxOwns(t *testing.T) {
	s := newSpace(t)
	for _, image := range []string{"app:1", "app:2"} {
		manifest := `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web"},"spec":{"replicas":1,"image":"` + image +
			`","failurePolicy":{"gracePeriodSeconds":0}}}`
		_, err := shared.cluster.Managers.AppsV1().PodManagers(s.Name).Patch(t.Context(), "web", types.ApplyPatchType, []byte(manifest),
			metav1.PatchOptions{FieldManager: "kustomize-controller"})
		if err != nil {
			t.Fatal(err)
		}
		s.pm("status", "web", "--timeout", "1m")
	}
	got := s.try("undo", "web")
	if want := "Warning: Flux (field manager kustomize-controller) owns spec.image of web and will revert the change"; got.code != 0 || !strings.Contains(got.err, want) {
		t.Errorf("undo: %v", got)
	}
	if image := s.Manager("web").Spec.Image; image != "app:1" {
		t.Errorf("the image is %s; undo has to change it in spite of the warning", image)
	}
}

func TestChange(t *testing.T) {
	s := newSpace(t)
	const ready = "status web --timeout 1m"
	s.apply("web", "{replicas: 2, image: 'app:1', updateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}, "+hasty+"}")
	s.apply("api", "{replicas: 1, image: 'app:1', "+hasty+"}")
	s.pm(strings.Fields(ready)...)
	const full = "podmanager.apps.mycompany.com/"
	for _, step := range []struct{ arguments, want string }{
		{"scale web api --replicas 3", full + "web scaled to 3, was 2\n" + full + "api scaled to 3, was 1"},
		{"scale web --replicas 3", full + "web is scaled to 3 already"},
		{"scale web --replicas 4 --dry-run=server", full + "web scaled to 4, was 3 (server dry run)"},
		{ready, ""},
		{"pause -l team=a", full + "api paused (scaling and healing go on)\n" + full + "web paused (scaling and healing go on)"},
		{"pause web", full + "web is paused already"},
		{"resume web api", full + "web resumed\n" + full + "api resumed"},
		{"restart web --dry-run", full + "web restarted (dry run)"},
		{"restart web", full + "web restarted"},
		{ready, ""},
		{"set image web *=app:2 -o name", "podmanager.apps.mycompany.com/web"},
		{ready, ""},
		{"promote web", full + "web has the partition 0 already"},
		{"version", "kubectl pm devel (go"},
	} {
		got := s.pm(strings.Fields(step.arguments)...)
		if !strings.HasPrefix(strings.TrimSpace(got), step.want) {
			t.Errorf("kubectl pm %s: got\n%s\nwant\n%s", step.arguments, got, step.want)
		}
	}
	after := s.Manager("web")
	if after.Spec.Image != "app:2" || after.Spec.Paused || *after.Spec.Replicas != 3 || after.Spec.RestartAt == nil {
		t.Errorf("in the end: %+v", after.Spec)
	}
	s.refused(1, "spec.replicas of web is 3, not 2", "scale", "web", "--replicas", "5", "--current-replicas", "2")
	s.refused(1, "web has no container nope; it has app", "set", "image", "web", "nope=x")
	s.refused(1, "no PodManager is selected", "restart")
	s.refused(1, "--dry-run is \"maybe\"", "pause", "web", "--dry-run=maybe")
	s.refused(1, "no revision of web was rolled back", "retry", "web")
}

// undo skips a failed revision, even if a good one came after it.
func TestUndoPassesAFailedRevisionBy(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'app:1', failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}}")
	s.pm("status", "web", "--timeout", "1m")
	s.pm("set", "image", "web", "app=app:does-not-exist")
	if got := s.try("status", "web", "--timeout", "1m"); got.code != 3 {
		t.Fatalf("want exit code 3 after a rollback: %v", got)
	}
	s.pm("set", "image", "web", "app=app:3")
	s.pm("status", "web", "--timeout", "1m")
	s.golden("history", s.pm("history", "web"), `
REVISION HASH AGE STATE PODS IMAGES CHANGE-CAUSE
3 HASH AGE current 1 app:3 <none>
2 HASH AGE failed 0 app:does-not-exist <none>
1 HASH AGE 0 app:1 <none>`)
	if out := s.pm("undo", "web"); !strings.Contains(out, "undone, to revision 1") {
		t.Errorf("undo: %s", out)
	}
}
