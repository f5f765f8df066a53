//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// kstatusProgram is the path of hack/kstatus, built when first asked for. It is a program rather than an import so that
// its requirements stay out of the product's.
var kstatusProgram = sync.OnceValues(func() (string, error) {
	command := exec.Command("hack/tool.sh", "kstatus")
	var progress bytes.Buffer
	command.Stderr = &progress
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("hack/tool.sh kstatus: %w\n%s", err, &progress)
	}
	return strings.TrimSpace(string(out)), nil
})

// kstatus is what Helm and Flux make of the PodManager as it is now: Current, InProgress, Failed, Terminating or, if
// there is none of the name, NotFound.
func (s *space) kstatus(name string) (verdict, message string) {
	s.t.Helper()
	program, err := kstatusProgram()
	if err != nil {
		s.t.Fatal(err)
	}
	object := s.kubectl("get", "podmanager", name, "--ignore-not-found", "-o", "json")
	if strings.TrimSpace(object) == "" {
		return "NotFound", "Resource not found" // kstatus judges only what there is; these are the words of its poller
	}
	command := exec.CommandContext(s.ctx, program)
	command.Stdin = strings.NewReader(object)
	out, err := command.CombinedOutput()
	var answer struct{ Name, Status, Message string }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil || answer.Name != name {
		s.t.Fatalf("kstatus: %v\n%s\nof %s", err, out, object)
	}
	return answer.Status, answer.Message
}

// kstatusState is a state that a PodManager can be in, and what Helm and Flux must make of it.
type kstatusState struct {
	// reach brings the PodManager "web" into the state and returns when it is there to stay.
	reach func(s *space)
	want  string
	// message is a part of the verdict's message.
	message string
}

// testKstatus tries each state in a namespace of its own, beside the others.
func testKstatus(t *testing.T, states map[string]kstatusState) {
	// First, while the tests that run in parallel still wait: compiling beside them would slow them down.
	if _, err := kstatusProgram(); err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			state.reach(s)
			verdict, message := s.kstatus("web")
			if verdict != state.want || !strings.Contains(message, state.message) {
				t.Errorf("got %s: %q, want %s with a message like %q", verdict, message, state.want, state.message)
			}
		})
	}
}

// helm --wait and Flux go on when a PodManager is Ready, and never take one for done that no controller has seen.
func TestKstatusFresh(t *testing.T) {
	testKstatus(t, map[string]kstatusState{
		"none": {
			reach: func(*space) {},
			want:  "NotFound",
		},
		"not seen by a controller": {
			reach:   func(s *space) { s.applyPrivate("web", "{replicas: 2, image: nginx}") },
			want:    "InProgress",
			message: "generation is 1, but latest observed generation is -1",
		},
		"ready": {
			reach: func(s *space) {
				s.apply("web", "{replicas: 2, image: nginx}")
				s.awaitReady("web", 2)
			},
			want:    "Current",
			message: "Resource is Ready",
		},
	})
}
