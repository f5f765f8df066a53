//go:build e2e

package plugin

import (
	"strings"
	"testing"
)

// Every exit code of status, on one object: 0 done, 4 held by a partition and by a pause, 3 failed, 124 timed out, 1 not found.
func TestExitCodes(t *testing.T) {
	s := newSpace(t)
	const limits = "updateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0, partition: 1}}"
	s.apply("web", "{replicas: 2, image: 'app:1', "+limits+", failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}}")
	s.pm("status", "web", "--timeout", "1m") // for a first revision, there is no other that the partition could keep
	s.pm("set", "image", "web", "app=app:2")
	s.refused(4, "the rollout of web is held", "status", "web", "--timeout", "1m")
	s.pm("status", "web", "--timeout", "1m", "--held-ok")
	if out := s.pm("why", "web"); !strings.Contains(out, "The partition holds the rollout: 2 of 2 pods available; 1 updated, 1 not updated because of the partition") {
		t.Errorf("why: %s", out)
	}
	if out := s.pm("promote", "web"); !strings.Contains(out, "promoted: partition 0, was 1") {
		t.Errorf("promote: %s", out)
	}
	out := s.pm("status", "web", "--timeout", "1m")
	if !strings.Contains(out, "web: AllReplicasAvailable (2 wanted, 2 updated, 2 available): 2 of 2 pods available") {
		t.Errorf("done: %s", out)
	}

	s.pm("pause", "web")
	s.pm("set", "image", "web", "app=app:does-not-exist")
	s.refused(4, "run 'kubectl pm why web -n "+s.Name+"' to see how to continue", "status", "web", "--timeout", "1m")
	s.golden("why it is paused", s.pm("why", "web"), `
The rollout is paused: paused, 0 of 2 pods updated.

Next
 kubectl pm resume web -n NAMESPACE`)

	s.pm("resume", "web")
	failed := s.try("status", "web", "--timeout", "1m")
	if failed.code != 3 || !strings.Contains(failed.out, "web: RolledBack (2 wanted,") || !strings.Contains(failed.err, "run 'kubectl pm why web -n "+s.Name+"' to see why") {
		t.Errorf("rolled back: %v", failed)
	}
	s.refused(3, "the rollout of web has failed; run 'kubectl pm why web -n "+s.Name+"' to see why", "get", "-w", "--until-ready", "--timeout", "1m")
	s.Await("all pods to be back", func() (any, bool) {
		out := s.pm("why", "web")
		return out, strings.Contains(out, "2 of 2 pods available") && strings.Contains(out, "\n  kubectl pm retry web -n "+s.Name+"\n")
	})
	if out := s.pm("history", "web"); !strings.Contains(out, "new, failed") {
		t.Errorf("history: %s", out)
	}
	if out := s.pm("retry", "web"); !strings.Contains(out, "web retries web-") {
		t.Errorf("retry: %s", out)
	}
	if again := s.try("status", "web", "--timeout", "1m"); again.code != 3 {
		t.Errorf("want exit code 3 after the retry: %v", again)
	}

	s.pm("set", "image", "web", "app=app:never-ready")
	for _, timeout := range []string{"1ns", "1s"} { // before the first response, and after it
		s.refused(124, "timed out (--timeout)", "get", "web", "-w", "--until-ready", "--timeout", timeout)
		s.refused(124, "timed out (--timeout)", "status", "web", "--timeout", timeout)
	}
	s.refused(1, "there is no PodManager nope", "status", "nope")
}

// If the PodManager is deleted during status, that is not a success.
func TestStatusOfWhatIsDeleted(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'app:never-ready'}")
	done := make(chan result, 1)
	go func() { done <- s.try("status", "web", "--timeout", "1m") }()
	s.Await("a pod", func() (any, bool) {
		manager := s.Manager("web")
		return manager.Status, manager.Status.Replicas == 1
	})
	if _, err := shared.cluster.Kubectl(t.Context(), "delete", "pm", "web", "--namespace", s.Name, "--wait=false"); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.code != 1 || !strings.Contains(got.err, "delete") && !strings.Contains(got.err, "there is no PodManager web") {
		t.Errorf("got %v", got)
	}
}

// Verbs refuse a PodManager that is being deleted, and why names the finalizer that keeps it.
func TestVerbsOnWhatIsDeleted(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'app:1', "+hasty+"}")
	s.pm("status", "web", "--timeout", "1m")
	s.Kubectl("patch", "pm", "web", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/x"]}}`)
	s.Kubectl("delete", "pm", "web", "--wait=false")
	for _, arguments := range []string{"undo web", "restart web", "retry web", "set image web app=app:2", "scale web --replicas 2", "pause web", "resume web", "promote web"} {
		s.refused(1, "web is being deleted, so that a change would have no effect, and none was made; the finalizer example.com/x keeps it", strings.Fields(arguments)...)
	}
	s.refused(1, "web is being deleted; the finalizer example.com/x keeps it", "status", "web", "--timeout", "1m")
	out := s.pm("why", "web")
	for _, want := range []string{
		"The PodManager is being deleted, and waits for its finalizers", "finalizer example.com/x: the client that has set it has to remove it",
		"kubectl get pm web -o yaml --show-managed-fields -n " + s.Name,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("why: %q is missing in\n%s", want, out)
		}
	}
	s.Kubectl("patch", "pm", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

// why explains a halted rollout, with evidence and the next command. undo leaves the failed revision.
func TestWhyAndUndoOfAHaltedRollout(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: 'app:1', updateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}, "+hasty+"}")
	s.pm("status", "web", "--timeout", "1m")
	s.pm("set", "image", "web", "app=app:does-not-exist")
	if got := s.try("status", "web", "--timeout", "1m"); got.code != 3 {
		t.Fatalf("want exit code 3 for a halted rollout: %v", got)
	}
	got := s.pm("why", "web")
	for _, want := range []string{
		"The rollout is halted, because pods of the new revision fail: halted with 1 pod updated to web-", "\nEvidence\n  pod web-",
		"container app: ", `"app:does-not-exist"`, "event RolloutHalted", "\nNext\n  kubectl pm undo web -n " + s.Name + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if out := s.pm("get", "web"); !strings.Contains(out, "Failing") || !strings.Contains(out, "app:does-not-exist (new), app:1 (current)") {
		t.Errorf("get: %s", out)
	}
	s.pm("undo", "web")
	if out := s.pm("status", "web", "--timeout", "1m"); !strings.Contains(out, "AllReplicasAvailable") {
		t.Errorf("undone: %s", out)
	}
}
