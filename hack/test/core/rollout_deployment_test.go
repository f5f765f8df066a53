//go:build e2e

package core

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The Deployment tests of Kubernetes v1.36.3, in test/integration/deployment/deployment_test.go, and the tests of the same behavior of PodManagers.
// Revisions are ControllerRevisions here; there are no ReplicaSets in between.
//
//	TestNewDeployment                               TestFirstRollout
//	TestDeploymentRollingUpdate                     TestRollingUpdate, TestRolloutBudgetSurvivesKills
//	TestDeploymentSelectorImmutability              TestNoSelectorToChange
//	TestPausedDeployment                            TestPausedRollout; the revision is stored during the pause, so that
//	                                                users can look at it
//	TestScalePausedDeployment                       TestScaleWhilePaused
//	TestDeploymentHashCollision                     TestRevisionNameCollision
//	TestFailedDeployment                            TestProgressDeadline
//	TestOverlappingDeployments                      TestSameTemplateLabels: selectors cannot overlap
//	TestScaledRolloutDeployment                     TestScaleDuringBadRollout; not in proportion: at most
//	                                                maxSurge + maxUnavailable pods of the new revision are unavailable, and a
//	                                                scale-up creates further pods of the old revision
//	TestSpecReplicasChange                          TestScale, TestNoRevisionForOtherChanges
//	TestDeploymentAvailableCondition                TestAvailableCondition
//	TestGeneralReplicaSetAdoption, TestReplicaSetOrphaningAndAdoptionWhenLabelsChange
//	                                                not applicable; for pods: TestAdoptionByReference, TestRelabelledPod
//	TestDeploymentScaleSubresource                  TestScaleSubresource
//	TestTerminatingReplicasDeploymentStatus         TestRecreateNeverOverlaps, TestTerminatingReplicas
//	TestRecreateDeploymentForPodReplacement         TestRecreateNeverOverlaps
//	TestRollingUpdateAndProportionalScalingForDeploymentPodReplacement
//	                                                TestRollingUpdateWaitsForGonePods

// The first rollout: revision 1 becomes current once its pods are available.
func TestFirstRollout(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(3, "nginx:1", ", minReadySeconds: 3600, progressDeadlineSeconds: 7200")) // longer than the test needs to see this state
	manager := s.awaitState("web", "3 pods, 0 current, 3 updated, 0 available: Ready=False/WaitingForMinReadySeconds Available=False/NotEnoughReplicas Progressing=True/WaitingForPods")
	if status := manager.Status; status.CurrentRevision != "" || status.UpdateRevision == "" || status.Rollout == nil {
		t.Errorf("before the pods are available: %s", harness.Brief(manager))
	}
	s.patchManager("web", `{"spec":{"minReadySeconds":1}}`)
	manager = s.awaitState("web", "3 pods, 3 current, 3 updated, 3 available: "+allDone)
	revisions := s.revisions("web")
	if len(revisions) != 1 || revisions[0].Revision != 1 || !metav1.IsControlledBy(&revisions[0], manager) {
		t.Fatalf("revisions %+v", revisions)
	}
	name, hash := revisions[0].Name, revisions[0].Labels[v1.LabelRevision]
	if status := manager.Status; status.CurrentRevision != name || status.UpdateRevision != name || status.Rollout != nil || name != "web-"+hash {
		t.Errorf("at the end: %s", harness.Brief(manager))
	}
	for _, pod := range s.Pods() {
		if pod.Labels[v1.LabelRevision] != hash {
			t.Errorf("%s is of revision %s", pod.Name, pod.Labels[v1.LabelRevision])
		}
	}
	s.awaitEvents("web", v1.EventCreated)
}

// A rollout hangs, and another one supersedes it. Every count and condition is right in the meantime.
func TestRollingUpdate(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(10, "nginx:1", ""))
	first := s.awaitState("web", "10 pods, 10 current, 10 updated, 10 available: "+allDone).Status.CurrentRevision
	w := s.WatchPods()
	s.apply("web", spec(10, "nginx:never-ready", ""))
	manager := s.awaitState("web", "13 pods, 8 current, 5 updated, 8 available: "+rollingOut)
	second := manager.Status.UpdateRevision
	if status := manager.Status; status.CurrentRevision != first || second == first || status.Rollout == nil || status.Rollout.Revision != second {
		t.Errorf("in the middle: %s", harness.Brief(manager))
	}
	s.apply("web", spec(10, "nginx:3", ""))
	manager = s.awaitState("web", "10 pods, 10 current, 10 updated, 10 available: "+allDone)
	if status := manager.Status; status.CurrentRevision != status.UpdateRevision || slices.Contains([]string{first, second}, status.UpdateRevision) || status.Rollout != nil {
		t.Errorf("at the end: %s", harness.Brief(manager))
	}
	w.Always(withinBudget(8, 13, 0))
	if seen := byImage(s.Pods()); seen["nginx:3"] != 10 {
		t.Errorf("the pods run %v", seen)
	}
	if numbers := numbers(s.revisions("web")); !slices.Equal(numbers, []int64{1, 2, 3}) {
		t.Errorf("revisions %v", numbers)
	}
	started, completed := v1.EventStarted, v1.EventCompleted
	notes := s.awaitEvents("web", started, started, completed)
	if !strings.Contains(notes, "RolloutStarted: Rolling out revision "+second+", image nginx:never-ready") ||
		!strings.Contains(notes, "RolloutCompleted: Revision "+manager.Status.CurrentRevision+" is rolled out: ") {
		t.Errorf("events:\n%s", notes)
	}
}

// A user pauses the rollout before the first pod, before a change, and in the middle. Lost pods are replaced by pods of the same revision.
func TestPausedRollout(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(4, "nginx:1", ", paused: true"))
	s.awaitState("web", "0 pods, 0 current, 0 updated, 0 available: Ready=False/Paused Available=False/NotEnoughReplicas Progressing=False/Paused")
	harness.Steadily(s.T, time.Second, "no pods while paused", func() (any, bool) { n := len(s.AllPods()); return n, n == 0 })
	s.apply("web", spec(4, "nginx:1", ""))
	s.awaitState("web", "4 pods, 4 current, 4 updated, 4 available: "+allDone)
	s.awaitEvents("web", v1.EventPaused, v1.EventResumed)

	// A change during a pause: no pod changes, but the new revision is stored.
	before := uids(s.Pods())
	s.apply("web", spec(4, "nginx:never-ready", ", paused: true"))
	manager := s.awaitState("web", "4 pods, 4 current, 0 updated, 4 available: "+onHold)
	if manager.Status.CurrentRevision == manager.Status.UpdateRevision || len(s.revisions("web")) != 2 {
		t.Errorf("paused: %s", harness.Brief(manager))
	}
	s.deletePod("web-0")
	s.Await("the lost pod to be replaced by one of the old revision", func() (any, bool) {
		seen := byImage(s.Pods())
		return seen, seen["nginx:1"] == 4 && !slices.Contains(slices.Collect(maps.Values(uids(s.Pods()))), before["web-0"])
	})
	harness.Steadily(s.T, time.Second, "no other pod touched while paused", func() (any, bool) {
		now := uids(s.Pods())
		return now, len(now) == 4 && now["web-1"] == before["web-1"] && now["web-2"] == before["web-2"] && now["web-3"] == before["web-3"]
	})
	s.awaitState("web", "4 pods, 4 current, 0 updated, 4 available: "+onHold)

	// Pause halfway through the rollout.
	s.apply("web", spec(4, "nginx:never-ready", ""))
	s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+rollingOut)
	s.apply("web", spec(4, "nginx:never-ready", ", paused: true"))
	s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+onHold)
	s.awaitEvents("web", v1.EventPaused, v1.EventPaused, v1.EventPaused, v1.EventResumed, v1.EventResumed)
	s.apply("web", spec(4, "nginx:3", ""))
	s.awaitState("web", "4 pods, 4 current, 4 updated, 4 available: "+allDone)
}

// Scaling continues during a pause, and does not change the revision of any pod.
func TestScaleWhilePaused(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(1, "nginx:1", ", paused: false"))
	s.awaitReady("web", 1)
	s.apply("web", spec(1, "nginx:1", ", paused: true"))
	s.apply("web", spec(10, "nginx:1", ", paused: true"))
	s.awaitState("web", "10 pods, 10 current, 10 updated, 10 available: "+allDone)
	s.apply("web", spec(10, "nginx:never-ready", ", paused: false"))
	s.awaitState("web", "13 pods, 8 current, 5 updated, 8 available: "+rollingOut)
	s.apply("web", spec(14, "nginx:never-ready", ", paused: true"))
	s.awaitState("web", "17 pods, 12 current, 5 updated, 12 available: "+onHold)
	s.apply("web", spec(3, "nginx:never-ready", ", paused: true"))
	s.awaitState("web", "3 pods, 3 current, 0 updated, 3 available: "+onHold)
}

// A user scales to zero, changes the template, and scales up again: all pods have the new template.
func TestChangeAtZeroReplicas(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(4, "nginx:1", ""))
	s.awaitReady("web", 4)
	s.apply("web", spec(0, "nginx:1", ""))
	s.awaitReady("web", 0)
	w := s.WatchPods()
	s.apply("web", spec(0, "nginx:2", ""))
	s.awaitReady("web", 0)
	s.apply("web", spec(12, "nginx:2", ""))
	s.awaitState("web", "12 pods, 12 current, 12 updated, 12 available: "+allDone)
	w.Always(func(pods []*corev1.Pod, _ time.Time) string {
		if running("nginx:1", 1)(pods) {
			return "a pod of the old template"
		}
		return ""
	})
}

// If another object has the name of a new revision, the revision gets another name, and the rollout continues.
func TestRevisionNameCollision(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: 'nginx:2'}")
	s.awaitReady("web", 2)
	s.awaitCurrent()
	name := s.Manager("web").Status.CurrentRevision
	s.Kubectl("delete", "pm", "web")
	s.awaitRevisions("web")
	squatter := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Revision: 7, Data: runtime.RawExtension{Raw: []byte(`{"not":"ours"}`)}}
	if _, err := shared.kube.AppsV1().ControllerRevisions(s.Name).Create(s.Ctx, squatter, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.apply("web", "{replicas: 2, image: 'nginx:1'}")
	s.awaitReady("web", 2)
	s.apply("web", "{replicas: 2, image: 'nginx:2'}")
	status := s.awaitReady("web", 2).Status
	if status.CollisionCount != 1 || status.CurrentRevision == name || byImage(s.Pods())["nginx:2"] != 2 {
		t.Errorf("after a collision: %+v", status)
	}
	s.awaitEvents("web", v1.EventCollision)
	// The controller still finds old and new revisions.
	s.apply("web", "{replicas: 2, image: 'nginx:1'}")
	s.awaitReady("web", 2)
	s.awaitRevisions("web", 2, 3)
	s.apply("web", "{replicas: 2, image: 'nginx:2'}")
	if again := s.awaitReady("web", 2).Status; again.CurrentRevision != status.CurrentRevision || again.CollisionCount != 1 {
		t.Errorf("after the return to the previous template: %+v", again)
	}
	s.awaitRevisions("web", 3, 4)
}
