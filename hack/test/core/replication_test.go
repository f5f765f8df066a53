//go:build e2e

package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// warnings returns the number of warning events with a reason about a PodManager, including repetitions, and their notes.
func (s *space) warnings(name, reason string) (count int, notes string) {
	s.T.Helper()
	events, err := shared.kube.EventsV1().Events(s.Name).List(s.Ctx, metav1.ListOptions{
		FieldSelector: "regarding.name=" + name + ",reason=" + reason + ",type=" + corev1.EventTypeWarning,
	})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, event := range events.Items {
		count++
		notes += event.Note + "\n"
		if event.Series != nil {
			count += int(event.Series.Count) - 1
		}
	}
	return count, notes
}

// If a foreign pod has the name of one of our pods, our pod gets the next index, and the status reports why.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *space, pod *corev1.Pod){
		"a pod without an owner": func(*space, *corev1.Pod) {},
		"a pod with our label that something else controls": func(s *space, pod *corev1.Pod) {
			labelled("web")(pod)
			pod.OwnerReferences = []metav1.OwnerReference{s.otherOwner(new(true))}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.createPod("web-1", func(pod *corev1.Pod) { change(s, pod) })
			s.Await("the foreign pod to run, so that no other component changes it", func() (any, bool) {
				pod := s.pod("web-1")
				return pod.Status, readySince(pod) != metav1.Time{}
			})
			before := s.pod("web-1")
			s.apply("web", "{replicas: 3, image: nginx}")
			manager := s.awaitReady("web", 3)
			if want := []string{"web-0", "web-2", "web-3"}; !slices.Equal(manager.Status.PodNames, want) {
				t.Errorf("pods %v, want %v", manager.Status.PodNames, want)
			}
			if message := s.Condition("web", v1.ConditionReady).Message; !strings.HasPrefix(message, "3 of 3 pods available; ") || !strings.Contains(message, "web-1") {
				t.Errorf("Ready says %q", message)
			}
			// More syncs cause no more warnings.
			s.Kubectl("scale", "pm/web", "--replicas=4")
			s.awaitReady("web", 4)
			s.deletePod("web-0")
			s.Await("the deleted pod to be replaced", func() (any, bool) { got := podNames(s.Pods()); return got, len(got) == 5 })
			s.awaitReady("web", 4)
			s.Await("a warning about web-1", func() (any, bool) {
				count, notes := s.warnings("web", v1.EventNameTaken)
				return notes, count == 1 && strings.Contains(notes, "web-1")
			})
			if after := s.pod("web-1"); after.UID != before.UID || after.ResourceVersion != before.ResourceVersion || touched(after) {
				t.Errorf("the foreign pod was changed:\nbefore %+v\nafter  %+v", before.ObjectMeta, after.ObjectMeta)
			}
			if count, notes := s.warnings("web", v1.EventNameTaken); count != 1 {
				t.Errorf("%d warnings, want 1:\n%s", count, notes)
			}
		})
	}
}

// Once the foreign pod is gone, its name can be used again, and the status no longer mentions it.
func TestForeignNameIsFreed(t *testing.T) {
	s := newSpace(t)
	s.createPod("web-0", func(*corev1.Pod) {})
	s.apply("web", "{replicas: 1, image: nginx}")
	s.awaitReady("web", 1)
	s.Await("the hint about the taken name", func() (any, bool) {
		message := s.Condition("web", v1.ConditionReady).Message
		return message, strings.Contains(message, "web-0")
	})
	// The pod is gone at once: the hint would disappear while it terminates, when its name is still taken.
	s.Kubectl("delete", "pod", "web-0", "--grace-period=0", "--force")
	s.Await("the hint about the taken name to be gone", func() (any, bool) {
		message := s.Condition("web", v1.ConditionReady).Message
		return message, !strings.Contains(message, "web-0")
	})
	s.Kubectl("scale", "pm/web", "--replicas=2")
	s.awaitReady("web", 2)
	s.awaitPods("web-0 web-1")
}

// Pods of a deleted PodManager of the same name do not belong to the new one. The new one neither counts nor changes them, and does not use their
// names until they are gone.
func TestDeadPredecessor(t *testing.T) {
	s := newSpace(t)
	s.apply("web", s.held("replicas: 2"))
	dead := s.awaitReady("web", 2)
	s.Kubectl("delete", "pm", "web")
	s.Await("the pods to be going", func() (any, bool) { got := s.terminating(); return got, len(got) == 2 })
	// Another pod, of a PodManager that never existed. The garbage collector deletes it, but a finalizer keeps it.
	s.createPod("web-2", func(pod *corev1.Pod) {
		labelled("web")(pod)
		pod.Finalizers = []string{holdFinalizer}
		unknown := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uuid.NewUUID()}}
		pod.OwnerReferences = []metav1.OwnerReference{ownedBy(unknown, new(true), new(true))}
	})
	owners := map[string]types.UID{}
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		owners[name] = s.pod(name).OwnerReferences[0].UID
	}

	s.apply("web", "{replicas: 2, image: nginx}")
	manager := s.awaitReady("web", 2)
	if manager.UID == dead.UID || !slices.Equal(manager.Status.PodNames, []string{"web-3", "web-4"}) || manager.Status.TerminatingReplicas != 0 {
		t.Errorf("pods of the predecessor are counted: %s, %v", harness.Brief(manager), manager.Status.PodNames)
	}
	for name, owner := range owners {
		if pod := s.pod(name); len(pod.OwnerReferences) != 1 || pod.OwnerReferences[0].UID != owner {
			t.Errorf("%s has other owners now: %v", name, pod.OwnerReferences)
		}
	}
	if touched(s.pod("web-2")) {
		t.Error("web-2 was changed")
	}
	before := uids(s.Pods())
	s.letGo("web-0", "web-1")
	s.Await("the predecessor's pods to be gone", func() (any, bool) {
		got := podNames(s.AllPods())
		return got, !slices.Contains(got, "web-0") && !slices.Contains(got, "web-1")
	})
	s.awaitReady("web", 2)
	if after := uids(s.Pods()); after["web-3"] != before["web-3"] || after["web-4"] != before["web-4"] {
		t.Errorf("pods were replaced: before %v, after %v", before, after)
	}
}

// A pod that is marked for deletion is deleted and replaced, unless the PodManager is scaled down.
func TestMarkedPodIsReplaced(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 3, image: nginx}")
	s.awaitReady("web", 3)
	before := uids(s.Pods())
	s.patchPod("web-1", fmt.Sprintf(`{"annotations":{%q:"true"}}`, v1.AnnotationDelete))
	s.Await("the marked pod to be replaced", func() (any, bool) {
		now := uids(s.AllPods())
		return now, len(now) == 3 && now["web-1"] != before["web-1"]
	})
	s.awaitReady("web", 3)
	after := uids(s.Pods())
	if len(after) != 3 || after["web-0"] != before["web-0"] || after["web-2"] != before["web-2"] {
		t.Errorf("other pods were replaced: before %v, after %v", before, after)
	}
}

// TerminationStarted, the default, replaces a deleted pod while it terminates. TerminationComplete waits until it is gone.
func TestPodReplacementPolicy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		policy string
		during string
		most   int // pods that exist at the same time
		after  string
	}{
		"by default at once":                  {"", "web-1 web-2", 3, "web-1 web-2"},
		"TerminationStarted at once":          {", podReplacementPolicy: TerminationStarted", "web-1 web-2", 3, "web-1 web-2"},
		"TerminationComplete when it is gone": {", podReplacementPolicy: TerminationComplete", "web-1", 2, "web-0 web-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", s.held("replicas: 2"+test.policy))
			s.awaitReady("web", 2)
			w := s.WatchPods()
			s.deletePod("web-0")
			s.Await("the deletion to be in the status", func() (any, bool) {
				status := s.Manager("web").Status
				return status, status.TerminatingReplicas == 1 && strings.Join(status.PodNames, " ") == test.during
			})
			harness.Steadily(s.T, 500*time.Millisecond, "the active pods are "+test.during, func() (any, bool) {
				got := strings.Join(podNames(s.Pods()), " ")
				return got, got == test.during
			})
			s.letGo("web-0")
			s.awaitPods(test.after)
			s.awaitReady("web", 2)
			if _, most := w.Extremes(existing); most != test.most {
				t.Errorf("up to %d pods existed at the same time, want %d", most, test.most)
			}
		})
	}
}

// The API server validates the fields of replication at apply.
func TestBadReplicationIsRefused(t *testing.T) {
	const limit = "scaleDown.maxTerminating must be a number of at least 1 or a percentage from 1% to 100%"
	tests := map[string]struct{ field, want string }{
		"no pod may go":        {"scaleDown: {maxTerminating: 0}", limit},
		"fewer than none":      {"scaleDown: {maxTerminating: -1}", limit},
		"no percent":           {"scaleDown: {maxTerminating: 0%}", limit},
		"more than all":        {"scaleDown: {maxTerminating: 150%}", limit},
		"no number":            {"scaleDown: {maxTerminating: abc}", limit},
		"a number as text":     {"scaleDown: {maxTerminating: '2'}", limit},
		"an unknown policy":    {"podReplacementPolicy: Sometimes", `supported values: "TerminationStarted", "TerminationComplete"`},
		"less than no history": {"failedPodsHistoryLimit: -1", "spec.failedPodsHistoryLimit in body should be greater than or equal to 0"},
		"its old name":         {"scaleDown: {maxUnavailable: 1}", `unknown field "spec.scaleDown.maxUnavailable"`},
		"one may go":           {"scaleDown: {maxTerminating: 1}", ""},
		"one percent":          {"scaleDown: {maxTerminating: 1%}", ""},
		"all":                  {"scaleDown: {maxTerminating: 100%}", ""},
		"no history":           {"failedPodsHistoryLimit: 0", ""},
	}
	s := newSpace(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := s.with(t).DryRun(harness.Manifest("web", "", "{image: a, "+test.field+"}"))
			if refused := err != nil; refused != (test.want != "") || !strings.Contains(out, test.want) {
				t.Errorf("create: %v\n%s\nwant: %s", err, out, test.want)
			}
		})
	}
}
