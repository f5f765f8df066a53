//go:build e2e

package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// kstatusProgram returns the path of the program hack/tools/kstatus, which the first call builds. It is a separate program, so that the product
// does not get its dependencies.
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

// kstatus returns the PodManager's status as Helm and Flux see it: Current, InProgress, Failed, Terminating, or NotFound if it does not exist.
func (s *space) kstatus(name string) (verdict, message string) {
	s.T.Helper()
	program, err := kstatusProgram()
	if err != nil {
		s.T.Fatal(err)
	}
	object := s.Kubectl("get", "podmanager", name, "--ignore-not-found", "-o", "json")
	if strings.TrimSpace(object) == "" {
		return "NotFound", "Resource not found" // kstatus only assesses existing objects; this is the message of its poller
	}
	command := exec.CommandContext(s.Ctx, program)
	command.Stdin = strings.NewReader(object)
	out, err := command.CombinedOutput()
	var answer struct{ Name, Status, Message string }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil || answer.Name != name {
		s.T.Fatalf("kstatus: %v\n%s\nof %s", err, out, object)
	}
	return answer.Status, answer.Message
}

// kstatusState is a state of a PodManager, and the status that Helm and Flux must see.
type kstatusState struct {
	// reach brings the PodManager "web" into the state, and returns once it stays there.
	reach func(s *space)
	want  string
	// message is a part of kstatus's message.
	message string
}

// testKstatus tests each state in a separate namespace, in parallel.
func testKstatus(t *testing.T, states map[string]kstatusState) {
	// Build before the parallel tests run, because compiling would slow them down.
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

// helm --wait and Flux continue once a PodManager is Ready, and never before a controller has seen it.
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
