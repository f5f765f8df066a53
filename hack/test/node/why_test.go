//go:build e2e

package node

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// kubectl podmanager why shows the exit code and the last words of a container that crashes.
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
			"The rollout is halted, because pods of the new revision fail", "\nEvidence\n", "exit code 7", "container web: ", " restarts\n",
			"Crashing, as MODE asks", "\nNext\n  kubectl podmanager undo web -n " + s.Name,
		} {
			if !strings.Contains(string(out), want) {
				return want + " is missing in\n" + string(out), false
			}
		}
		return nil, true
	})
}
