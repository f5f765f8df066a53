//go:build e2e

package core

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The OpenKruise tests of CloneSets for updates in place and with a partition, and the tests of the same behavior of PodManagers. Three things
// differ by design: environment variables from labels do not restart a container, containers have no launch priorities, and a partition of 99 % of
// 4 pods leaves 4 pods on the old revision, not 3.
//
//	test/e2e/apps/cloneset.go
//	  in-place update images with the same imageID              TestInPlaceImage; pkg/plan tests the signs of a restart
//	  in-place update both image and env from label             TestInPlaceMetadata "and an image": labels and image in one go
//	  in-place update two container images with priorities      TestInPlaceImage "one of two containers"; no priorities
//	  partition="99%", replicas=4, make sure one is upgraded     TestPartitionOfAll: rounded up, as the API says
//	test/e2e/apps/inplace_vpa.go
//	  update resources up and down, requests, limits, both      TestInPlaceResources
//	  update images and resources                               TestInPlaceResources "with an image"
//	  failed to inplace update resource                         TestInPlaceInfeasible, TestInPlaceDeferred
//	  change QoS class                                          TestInPlaceImpossible
//	pkg/controller/cloneset/sync/cloneset_update_test.go
//	  inplace update, inplace update 1, 2                       TestInPlaceImage, TestInPlaceBudget
//	  recreate update 2                                         TestInPlaceImpossible "another field"
//	  inplace update with grace period                          TestInPlaceGrace, TestInPlaceGraceIsPaused
//	  normal update condition (the gate of a new pod)           TestInPlaceGrace: a pod with the gate becomes ready
//	  rollback with partition                                   TestPartition, raising it
//	pkg/controller/cloneset/sync/cloneset_sync_utils_test.go
//	  update partition=3, rollback partition=4 (all steps)      TestPartition
//	  update in-place partition=3 with maxSurge                 TestInPlaceSurge; its surge pod goes again at the end
//	  scale with partition                                      TestPartitionScale
//
// Further tests: the status reports a refused update, and the update is not retried (TestInPlaceImpossible); crashes of the controller between any
// two steps (TestInPlaceSurvivesCrash); the limits at every version of every pod; and the cost.

const inPlacePolicy = "podUpdatePolicy: %s, maxSurge: 0, maxUnavailable: 1"

// awaitInPlace waits for the end of a rollout, and checks that the same pods, on the same nodes, have the new revision.
func (s *space) awaitInPlace(before []corev1.Pod) []corev1.Pod {
	s.T.Helper()
	manager := s.awaitReady("web", len(before))
	was := map[string]corev1.Pod{}
	for _, pod := range before {
		was[pod.Name] = pod
	}
	after := s.Pods()
	for _, pod := range after {
		old := was[pod.Name]
		if pod.UID != old.UID || pod.Spec.NodeName != old.Spec.NodeName || pod.Status.PodIP != old.Status.PodIP {
			s.T.Errorf("%s was %s on %s with %s, is %s on %s with %s", pod.Name,
				old.UID, old.Spec.NodeName, old.Status.PodIP, pod.UID, pod.Spec.NodeName, pod.Status.PodIP)
		}
		if index := pod.Labels[v1.LabelPodIndex]; "web-"+index != pod.Name {
			s.T.Errorf("%s has the index %s", pod.Name, index)
		}
		if got := pod.Labels[v1.LabelRevision]; got != revision(manager) || got == old.Labels[v1.LabelRevision] {
			s.T.Errorf("%s has the revision %s, had %s, want %s", pod.Name, got, old.Labels[v1.LabelRevision], revision(manager))
		}
	}
	if status := manager.Status; status.CurrentRevision != status.UpdateRevision || int(status.CurrentReplicas) != len(before) {
		s.T.Errorf("the rollout has ended, but the status does not say so: %s", harness.Brief(manager))
	}
	return after
}

// hasRestarted checks how often each container was restarted.
func (s *space) hasRestarted(pods []corev1.Pod, times ...int32) {
	s.T.Helper()
	for _, pod := range pods {
		for i, status := range pod.Status.ContainerStatuses {
			if status.RestartCount != times[i] || !runsItsImages(&pod) {
				s.T.Errorf("%s: container %s runs %s and was restarted %d times, want %s and %d", pod.Name, status.Name,
					status.Image, status.RestartCount, pod.Spec.Containers[i].Image, times[i])
			}
		}
	}
}

// Existing pods get another image through a patch. Only containers with a new image are restarted.
func TestInPlaceImage(t *testing.T) {
	t.Parallel()
	two := "template: {spec: {containers: [{name: a, image: '%s'}, {name: b, image: 'b:1'}]}}"
	tests := map[string]struct {
		policy, first, second string
		restarts              []int32
	}{
		"if possible":           {"InPlaceIfPossible", "image: 'app:1'", "image: 'app:2'", []int32{1}},
		"only in place":         {"InPlaceOnly", "image: 'app:1'", "image: 'app:2'", []int32{1}},
		"one of two containers": {"InPlaceIfPossible", fmt.Sprintf(two, "a:1"), fmt.Sprintf(two, "a:2"), []int32{1, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, test.policy)
			s.apply("web", rolloutSpec(3, limits, test.first))
			s.awaitReady("web", 3)
			before := s.Pods()
			w := s.WatchPods()
			s.apply("web", rolloutSpec(3, limits, test.second))
			after := s.awaitInPlace(before)
			s.hasRestarted(after, test.restarts...)
			for i, pod := range after {
				was, is := before[i].Status.ContainerStatuses[0], pod.Status.ContainerStatuses[0]
				if was.ImageID == is.ImageID || was.ContainerID == is.ContainerID {
					t.Errorf("%s runs the same container as before: %+v", pod.Name, is)
				}
			}
			w.NothingMoved()
			w.Always(within(2, 3, serves))
			s.awaitNormals(v1.EventUpdated, 3, 3)
		})
	}
}

// awaitNormals waits for a number of normal events with a reason about web. The controller sends events some time after it acts.
func (s *space) awaitNormals(reason string, least, most int) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%d to %d events %s", least, most, reason), func() (any, bool) {
		events, err := shared.kube.EventsV1().Events(s.Name).List(s.Ctx, metav1.ListOptions{
			FieldSelector: "regarding.name=web,reason=" + reason + ",type=" + corev1.EventTypeNormal,
		})
		if err != nil {
			s.T.Fatal(err)
		}
		return len(events.Items), len(events.Items) >= least && len(events.Items) <= most
	})
}

// Labels and annotations are added, changed and removed without a restart.
func TestInPlaceMetadata(t *testing.T) {
	t.Parallel()
	template := "template: {metadata: {labels: {%s}, annotations: {%s}}, spec: {containers: [{name: a, image: '%s'}]}}"
	first := fmt.Sprintf(template, "app: mine, stays: a, changes: a, goes: a", "stays: a, changes: a, goes: a", "a:1")
	for name, image := range map[string]string{"alone": "a:1", "and an image": "a:2"} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, v1.InPlaceOnly)
			s.apply("web", rolloutSpec(3, limits, first))
			s.awaitReady("web", 3)
			before := s.Pods()
			s.patchPod("web-1", `{"labels":{"by":"hand"},"annotations":{"by":"hand"}}`)
			w := s.WatchPods()
			began := time.Now()
			s.apply("web", rolloutSpec(3, limits, fmt.Sprintf(template, "stays: a, changes: b, comes: b", "stays: a, changes: b, comes: b", image)))
			after := s.awaitInPlace(before)
			// The kubelet does not report on labels. The next pod must not wait for it, which would take 10 s each time.
			if took := time.Since(began); image == "a:1" && took > harness.Scaled(19*time.Second) {
				t.Errorf("the update of the labels took %v", took)
			}
			w.NothingMoved()
			if image == "a:1" {
				s.hasRestarted(after, 0)
				w.Always(within(3, 3, serves))
			} else {
				s.hasRestarted(after, 1)
			}
			for _, pod := range after {
				s.hasMetadata(&pod)
			}
		})
	}
}

// hasMetadata checks the labels and annotations of TestInPlaceMetadata.
func (s *space) hasMetadata(pod *corev1.Pod) {
	s.T.Helper()
	labels, annotations := maps.Clone(pod.Labels), maps.Clone(pod.Annotations)
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.ContainsAny(key, "-/") || key == v1.LabelManager })
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.Contains(key, "/") })
	want := map[string]string{"stays": "a", "changes": "b", "comes": "b"}
	if pod.Name == "web-1" {
		want["by"] = "hand"
	}
	if !maps.Equal(annotations, want) {
		s.T.Errorf("%s has the annotations %v, want %v", pod.Name, annotations, want)
	}
	want[v1.LabelApp] = "web" // the default
	if !maps.Equal(labels, want) {
		s.T.Errorf("%s has the labels %v, want %v", pod.Name, labels, want)
	}
}
