//go:build e2e

package e2eplugin

import (
	"strings"
	"testing"
)

// user makes an account with a ClusterRole in the namespace, and acts for it.
func (s *space) user(name, role string) *space {
	s.t.Helper()
	for _, arguments := range [][]string{
		{"create", "serviceaccount", name},
		{"create", "rolebinding", name, "--clusterrole=" + role, "--serviceaccount=" + s.name + ":" + name},
	} {
		if _, err := shared.cluster.Kubectl(s.t.Context(), append(arguments, "--namespace", s.name)...); err != nil {
			s.t.Fatal(err)
		}
	}
	return &space{t: s.t, name: s.name, kubeconfig: s.kubeconfig, as: "system:serviceaccount:" + s.name + ":" + name}
}

// Whoever has the role edit can do all that the plugin does.
func TestUserWhoMayEdit(t *testing.T) {
	admin := newSpace(t)
	admin.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	s := admin.user("editor", "edit")
	s.await("the rights to be there", func() (any, bool) {
		got := s.try("get", "web")
		return got, got.code == 0 && !strings.Contains(got.out, "Not shown")
	})
	for _, line := range []string{
		"status web --timeout 1m", "set image web app=app:2", "status web --timeout 1m", "history web", "diff web", "why web", "undo web",
		"status web --timeout 1m", "restart web", "pause web", "resume web", "scale web --replicas 2", "get web -w --until-ready --timeout 1m",
	} {
		s.pm(strings.Fields(line)...)
	}
	if got := s.try("check", "web"); got.code != 0 || strings.Contains(got.out, "you may not") || !strings.Contains(got.out, "Leader       unknown") {
		t.Errorf("check: %v", got)
	}
	for _, name := range []string{"web", "new"} { // one that is there, and one that is not
		got := s.tryWith(manifestOf(name, "{replicas: 2, image: 'app:3', "+hasty+"}"), "simulate", "-f", "-")
		if got.code != 0 || got.err != "" || !strings.Contains(got.out, "completed; 2 of 2 pods available") || strings.Contains(got.out, "Note:") {
			t.Errorf("simulate: %v", got)
		}
	}
}

// Whoever may only look at PodManagers sees what there is to see, and is told what is missing.
func TestUserWhoMayOnlyLook(t *testing.T) {
	admin := newSpace(t)
	admin.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	admin.pm("status", "web", "--timeout", "1m")
	s := admin.user("viewer", "podmanager-view")
	s.await("the rights to be there", func() (any, bool) {
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
	s.golden("why", s.pm("why", "web"), "Nothing holds it up: 1 of 1 pod available.")
	s.pm("status", "web", "--timeout", "1m")
	s.refused(1, "you may not list controllerrevisions in namespace", "history", "web")
	s.refused(1, "you may not list controllerrevisions in namespace", "undo", "web")
	s.refused(1, `cannot patch resource "podmanagers"`, "restart", "web")
	s.refused(1, `cannot update resource "podmanagers/scale"`, "scale", "web", "--replicas", "3")
	simulated := s.tryWith(manifestOf("web", "{replicas: 1, image: 'app:2', "+hasty+"}"), "simulate", "-f", "-")
	for _, want := range []string{
		"Note: you may not read pods and controllerrevisions in this namespace, so the pods are taken to be as the status tells",
		"web-1 available; web-0 deleted", "completed; 1 of 1 pod available",
	} {
		if !strings.Contains(strings.Join(strings.Fields(simulated.out), " "), want) || simulated.code != 0 {
			t.Errorf("simulate: %q is missing in %v", want, simulated)
		}
	}
	if want := "Warning: the API server has not checked and completed the manifest"; !strings.Contains(simulated.err, want) || !strings.Contains(simulated.err, `cannot patch resource "podmanagers"`) {
		t.Errorf("simulate: %q is missing in %v", want, simulated)
	}
	admin.pm("pause", "web")
	admin.pm("set", "image", "web", "app=app:2")
	if got := s.try("simulate", "web"); got.code != 1 || !strings.Contains(got.err, "web is not at rest, and you may not read pods and controllerrevisions") {
		t.Errorf("simulate in the middle of a rollout: %v", got)
	}
	if got := s.pm("check", "web"); !strings.Contains(got, "you may not list pods") || !strings.Contains(got, "the role view has it") {
		t.Errorf("check: %s", got)
	}
}
