//go:build e2e

package plugin

import (
	"slices"
	"strings"
	"testing"
)

// user creates a ServiceAccount with a ClusterRole in the namespace, and impersonates it.
func (s *space) user(name, role string) *space {
	s.T.Helper()
	for _, arguments := range [][]string{
		{"create", "serviceaccount", name},
		{"create", "rolebinding", name, "--clusterrole=" + role, "--serviceaccount=" + s.Name + ":" + name},
	} {
		if _, err := shared.cluster.Kubectl(s.T.Context(), append(arguments, "--namespace", s.Name)...); err != nil {
			s.T.Fatal(err)
		}
	}
	return &space{Space: s.Space, kubeconfig: s.kubeconfig, as: "system:serviceaccount:" + s.Name + ":" + name}
}

// verb is a call and its output for different users.
type verb struct {
	arguments        string
	editor, viewer   string
	edCode, viewCode int
	// admin is what an administrator sees, with exit code 0, if it differs from what an editor sees.
	admin string
}

// everyVerb has the output of each verb for a user who may edit, and for one who may only view PodManagers: a part of stdout or, if the exit code
// is not 0, of stderr.
var everyVerb = []verb{
	{arguments: "promote web", editor: "partition 0, was 1", viewer: "-viewer-podmanager-edit --clusterrole=podmanager-edit", viewCode: 1},
	{arguments: "get", editor: "web", viewer: "web"},
	{arguments: "get web", editor: "Available", viewer: "you may not read pods and controllerrevisions in this namespace"},
	{arguments: "get web -w --until-ready --timeout 1m", editor: "AllReplicasAvailable", viewer: "AllReplicasAvailable"},
	{arguments: "status web --timeout 1m", editor: "AllReplicasAvailable", viewer: "AllReplicasAvailable"},
	{arguments: "status nope", editor: "there is no PodManager nope", edCode: 1, viewer: "there is no PodManager nope", viewCode: 1},
	{arguments: "why web", editor: "Nothing blocks it", viewer: "Nothing blocks it"},
	{arguments: "logs web --revision x", editor: `web has no revision "x"; use new, old, or a number or hash`, edCode: 1, viewer: "you may not list pods in namespace", viewCode: 1},
	{arguments: "exec web sh", editor: "kubectl exec web-", edCode: 1, viewer: "you may not list pods in namespace", viewCode: 1},
	{arguments: "port-forward web nope", editor: "kubectl port-forward web-", edCode: 1, viewer: "you may not list pods in namespace", viewCode: 1},
	{arguments: "history web", editor: "app:1", viewer: "you may not list controllerrevisions", viewCode: 1},
	{arguments: "diff web", editor: "app:1", viewer: "you may not list controllerrevisions", viewCode: 1},
	{arguments: "check web", editor: "you may patch podmanagers", viewer: "you may not list pods"},
	{arguments: "convert deployment/front", editor: "kind: PodManager", viewer: "-viewer-view --clusterrole=view", viewCode: 1},
	{arguments: "convert deployment/front --adopt", editor: "it wants no pods", edCode: 1, viewer: `cannot get resource "deployments"`, viewCode: 1},
	{arguments: "simulate web --replicas 2", editor: "completed; 2 of 2 pods available", viewer: "the simulation derives them from spec and status"},
	{arguments: "migrate", admin: "All PodManagers are stored as v1 already: there is nothing to do",
		editor: "migrate is for administrators of the cluster", edCode: 1, viewer: "migrate is for administrators of the cluster", viewCode: 1},
	{arguments: "version", editor: "kubectl pm", viewer: "kubectl pm"},
	{arguments: "completion kubectl", editor: "__complete", viewer: "__complete"},
	{arguments: "pause web", editor: "paused", viewer: `cannot patch resource "podmanagers"`, viewCode: 1},
	{arguments: "pause web --dry-run=client", editor: "is paused already", viewer: "paused (scaling and healing go on) (dry run)"},
	{arguments: "resume web", editor: "resumed", viewer: "is not paused"},
	{arguments: "status web --timeout 2m", editor: "AllReplicasAvailable", viewer: "AllReplicasAvailable"}, // the verb retry needs a finished rollout
	{arguments: "retry web", editor: "no revision of web was rolled back", edCode: 1, viewer: "no revision of web was rolled back", viewCode: 1},
	{arguments: "scale web --replicas 2", editor: "scaled to 2, was 1", viewer: "the role podmanager-edit (a Helm release may give it another name) grants this right", viewCode: 1},
	{arguments: "undo web", editor: "undone, to revision 1", viewer: "you may not list controllerrevisions", viewCode: 1},
	{arguments: "set image web app=app:3", editor: "image updated: app:3, was app:1", viewer: `cannot patch resource "podmanagers"`, viewCode: 1},
	{arguments: "restart web", editor: "restarted", viewer: `cannot patch resource "podmanagers"`, viewCode: 1},
}

// Every verb as an administrator, as an editor, who can do the same, and as a user who may only view PodManagers.
func TestEveryVerbAsEveryUser(t *testing.T) {
	t.Parallel()
	for user, role := range map[string]string{"admin": "", "editor": "edit", "viewer": "podmanager-view"} {
		t.Run(user, func(t *testing.T) {
			admin := newSpace(t)
			admin.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
			admin.pm("status", "web", "--timeout", "1m")
			admin.pm("set", "image", "web", "app=app:2")
			admin.pm("status", "web", "--timeout", "1m")
			admin.Kubectl("patch", "pm", "web", "--type=merge", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`)
			admin.Apply(strings.Replace(strings.Replace(workloads["Deployment"], "name: web", "name: front", 1), "replicas: 3", "replicas: 0", 1))
			s := admin
			if role != "" {
				s = admin.user(user, role)
				s.Await("the rights to be there", func() (any, bool) {
					got := s.try("get", "web")
					return got, got.code == 0 && (user == "viewer" || !strings.Contains(got.out, "Not shown"))
				})
			}
			for _, row := range everyVerb {
				want, code := row.editor, row.edCode
				switch {
				case user == "viewer":
					want, code = row.viewer, row.viewCode
				case user == "admin" && row.admin != "":
					want, code = row.admin, 0
				}
				got := s.try(strings.Fields(row.arguments)...)
				text := got.out
				if code != 0 {
					text = got.err
				}
				if got.code != code || !strings.Contains(text, want) {
					t.Errorf("kubectl pm %s: %v\nwant exit code %d and: %s", row.arguments, got, code, want)
				}
				if strings.Contains(got.out+got.err, "--user=USER") {
					t.Errorf("kubectl pm %s: the advice does not name the user: %v", row.arguments, got)
				}
			}
		})
	}
}

// A user with the role edit can simulate an existing PodManager, and a new one.
func TestSimulateAsEditor(t *testing.T) {
	admin := newSpace(t)
	admin.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	admin.pm("status", "web", "--timeout", "1m")
	s := admin.user("editor", "edit")
	s.Await("the rights to be there", func() (any, bool) {
		got := s.try("get", "web")
		return got, got.code == 0 && !strings.Contains(got.out, "Not shown")
	})
	for _, name := range []string{"web", "new"} { // one that exists, and one that does not
		got := s.tryWith(manifestOf(name, "{replicas: 2, image: 'app:3', "+hasty+"}"), "simulate", "-f", "-")
		if got.code != 0 || got.err != "" || !strings.Contains(got.out, "completed; 2 of 2 pods available") || strings.Contains(got.out, "Note:") {
			t.Errorf("simulate: %v", got)
		}
	}
}

// everyVerb includes all verbs.
func TestEveryVerbIsTried(t *testing.T) {
	s := newSpace(t)
	command := s.command()
	command.Args = []string{"kubectl", "__complete", "pm", ""}
	out, err := output(command)
	if err != nil {
		t.Fatal(err)
	}
	verbs := 0
	for _, line := range strings.Split(out, "\n") {
		name, _, _ := strings.Cut(line, "\t")
		if name == "" || name == "help" || strings.HasPrefix(name, ":") {
			continue
		}
		verbs++
		isTried := func(row verb) bool { return strings.HasPrefix(row.arguments+" ", name+" ") }
		if !slices.ContainsFunc(everyVerb, isTried) {
			t.Errorf("%s is not tried", name)
		}
	}
	if verbs < 15 {
		t.Errorf("only %d verbs were found in\n%s", verbs, out)
	}
}

// A user who may only view PodManagers gets as much as the role permits. The plugin says what is missing, and why.
func TestUserWhoMayOnlyLook(t *testing.T) {
	admin := newSpace(t)
	admin.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	admin.pm("status", "web", "--timeout", "1m")
	s := admin.user("viewer", "podmanager-view")
	s.Await("the rights to be there", func() (any, bool) {
		got := s.try("get", "web")
		return got, got.code == 0
	})
	s.golden("get", s.pm("get", "web"), `
Name: web
Namespace: NAMESPACE
Status: AllReplicasAvailable
Message: 1 of 1 pod available
Strategy: RollingUpdate, at most 1 pod more and 0 unavailable
On failure: Halt at 1 failed pod, AGE to recover
Images: app:1
Pods: 1 wanted, 1 exist, 1 updated, 1 ready, 1 available, 0 terminating
Not shown: you may not read pods and controllerrevisions in this namespace

NAME STATE READY RESTARTS AGE NODE DETAIL
web AllReplicasAvailable 1/1 AGE
└─ revision HASH (current) app:1`)
	s.golden("get -w", s.pm("get", "web", "-w", "--until-ready", "--timeout", "1m"),
		"web: AllReplicasAvailable (1 wanted, 1 updated, 1 available): 1 of 1 pod available")
	s.golden("why", s.pm("why", "web"), "Nothing blocks it: 1 of 1 pod available.")
	simulated := s.tryWith(manifestOf("web", "{replicas: 1, image: 'app:2', "+hasty+"}"), "simulate", "-f", "-")
	for _, want := range []string{
		"Note: you may not read pods and controllerrevisions in this namespace, so the simulation derives them from spec and status",
		"web-1 available; web-0 deleted", "completed; 1 of 1 pod available",
	} {
		if !strings.Contains(strings.Join(strings.Fields(simulated.out), " "), want) || simulated.code != 0 {
			t.Errorf("simulate: %q is missing in %v", want, simulated)
		}
	}
	if want := "Warning: the API server has neither checked the manifest nor added defaults"; !strings.Contains(simulated.err, want) || !strings.Contains(simulated.err, `cannot patch resource "podmanagers"`) {
		t.Errorf("simulate: %q is missing in %v", want, simulated)
	}
	admin.pm("pause", "web")
	admin.pm("set", "image", "web", "app=app:2")
	if got := s.try("simulate", "web"); got.code != 1 || !strings.Contains(got.err, "web is not Ready with all pods updated, so a simulation needs pods and controllerrevisions, which you may not read") {
		t.Errorf("simulate in the middle of a rollout: %v", got)
	}
}

// A user who may write PodManagers but not create pods gets an error from verbs that change the pods. Such a change can still be simulated, and the
// other verbs work.
func TestUserWithoutPods(t *testing.T) {
	admin := newSpace(t)
	admin.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	admin.pm("status", "web", "--timeout", "1m")
	s := admin.user("writer", "podmanager-view")
	admin.Kubectl("create", "rolebinding", "writer-edit", "--clusterrole=podmanager-edit", "--serviceaccount="+s.Name+":writer")
	want := `user "system:serviceaccount:` + s.Name + `:writer" may not create pods in namespace "` + s.Name + `"`
	s.Await("the rights and the policy to be there", func() (any, bool) {
		got := s.try("set", "image", "web", "app=app:2", "--dry-run=server")
		return got, got.code == 1 && strings.Contains(got.err, want)
	})
	for _, arguments := range []string{"set image web app=app:2", "restart web"} {
		if got := s.try(strings.Fields(arguments)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("kubectl pm %s: %v\nwant: %s", arguments, got, want)
		}
	}
	for _, input := range []struct{ file, arguments string }{{manifestOf("web", "{replicas: 1, image: 'app:2', "+hasty+"}"), "simulate -f -"}, {"", "simulate web --image app=app:2"}} {
		got := s.tryWith(input.file, strings.Fields(input.arguments)...)
		if got.code != 0 || !strings.Contains(got.out, "completed; 1 of 1 pod available") || !strings.Contains(got.err, "the role edit grants this right: kubectl create rolebinding "+s.Name+"-writer-edit") {
			t.Errorf("kubectl pm %s: %v", input.arguments, got)
		}
	}
	for _, arguments := range []string{"pause web", "resume web", "scale web --replicas 2"} {
		if got := s.try(strings.Fields(arguments)...); got.code != 0 {
			t.Errorf("kubectl pm %s: %v", arguments, got)
		}
	}
}
