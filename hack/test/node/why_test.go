//go:build e2e

package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// kubectl pm why shows the exit code and the last log lines of a crashing container.
func TestWhyShowsTheLog(t *testing.T) {
	s := newSpace(t)
	plugin := filepath.Join(shared.cluster.Programs, "kubectl-podmanager")
	s.apply(spec(2, replacing, policy(v1.HaltOnFailure), web("1", "")))
	s.awaitReady(2)
	s.awaitBaked()
	s.apply(spec(2, replacing, policy(v1.HaltOnFailure), web("crash", "")))
	s.awaitReason(v1.ConditionStalled, v1.ReasonHalted)
	s.Await("an answer with a log", func() (any, bool) {
		out, err := exec.CommandContext(t.Context(), plugin, "why", "web", "--namespace", s.Name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{
			"The rollout is halted, because pods of the new revision fail", "\nEvidence\n", "exit code 7", "container web: ", "; restart count ",
			"Crashing, as MODE asks", "\nNext\n  kubectl pm undo web -n " + s.Name,
		} {
			if !strings.Contains(string(out), want) {
				return want + " is missing in\n" + string(out), false
			}
		}
		return nil, true
	})
}

// kubectl pm logs shows the logs of all pods with their names, and exec runs a command in a pod of the new revision.
func TestLogsAndExec(t *testing.T) {
	s := newSpace(t)
	plugin := filepath.Join(shared.cluster.Programs, "kubectl-podmanager")
	s.apply(spec(2, replacing, "", web("1", "")))
	s.awaitReady(2)
	run := func(arguments ...string) string {
		command := exec.CommandContext(t.Context(), plugin, append([]string{arguments[0], "web", "--namespace", s.Name}, arguments[1:]...)...)
		command.Env = append(os.Environ(), "PATH="+shared.cluster.Programs+":"+os.Getenv("PATH")) // kubectl is in one of these folders
		out, _ := command.CombinedOutput()
		return string(out)
	}
	out := run("logs", "--revision", "new", "--tail", "-1")
	for _, want := range []string{"[web-0/web] ", "[web-1/web] "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	// The only program in the image is the server, and it cannot listen twice.
	if out := run("exec", "--", "/web"); !strings.Contains(out, "kubectl exec web-0") || !strings.Contains(out, "address already in use") {
		t.Errorf("exec: %s", out)
	}
}
