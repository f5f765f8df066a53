//go:build e2e

package core

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The ReplicaSet tests of Kubernetes v1.36.3, and the tests of the same behavior of PodManagers. Three things differ by design: the selector is
// always podmanager=NAME and cannot be set, pods have the names NAME-0, NAME-1 and so on, and failedPodsHistoryLimit failed pods are kept.
//
//	test/integration/replicaset/replicaset_test.go
//	  TestAdoption                                  TestAdoptionByReference
//	  TestRSSelectorImmutability                    TestNoSelectorToChange: there is no such field; the name is the selector
//	  TestSpecReplicasChange                        TestScale, TestObservedGenerationFollows
//	  TestDeletingAndFailedPods                     TestDeletingAndFailedPods; which failed pods stay: TestFailedPodsHistory
//	  TestPodDeletionCost                           TestScaleDownRanking; there is no feature gate to turn it off
//	  TestOverlappingRSs                            TestSameTemplateLabels, TestPodMovesToAnotherManager: selectors cannot overlap,
//	                                                so the tests have equal pods, and a pod that changes its owner
//	  TestPodOrphaningAndAdoptionWhenLabelsChange   TestRelabelledPod
//	  TestGeneralPodAdoption                        TestAdoptionBesideOtherOwners; the other owner exists, because a real garbage
//	                                                collector runs here
//	  TestReadyAndAvailableReplicas                 TestReadyAndAvailable, TestMinReadySeconds
//	  TestRSScaleSubresource                        TestScaleSubresource, TestScaleUpdateAndPatch
//	  TestExtraPodsAdoptionAndDeletion              TestExtraPods
//	  TestFullyLabeledReplicas                      TestLabelsBeyondTheSelector, TestRollingUpdate: there is no such count;
//	                                                updatedReplicas has the pods of the current template
//	  TestReplicaSetsAppsV1DefaultGCPolicy          TestDefaultDeletionPolicy, TestDelete: the pods are gone before the
//	                                                PodManager is, whatever the policy
//	  TestTerminatingReplicas                       TestTerminatingReplicas
//
//	test/e2e/apps/replica_set.go
//	  serve a basic image on each replica           TestCreate, as far as pods without containers can show it
//	  failure condition on an exceeded quota        TestQuota, TestQuotaIsKeptByScalingDown
//	  adopt matching pods, release no longer ...    TestAdoptionByReference (the pod exists first), TestRelabelledPod
//	  working scale subresource                     TestScaleSubresource, TestScaleUpdateAndPatch
//	  replace and patch                             TestReplaceAndPatch
//	  list and delete a collection                  TestListAndDeleteCollection
//	  status endpoints                              TestStatusEndpoints: others can write; the controller corrects wrong values

const (
	// fieldManager is the field manager of the controller's writes.
	fieldManager = "podmanager-controller"
	// holdFinalizer keeps a deleted pod until the test removes it.
	holdFinalizer = "example.com/hold"
)

// with returns the space for a subtest.
func (s *space) with(t *testing.T) *space {
	return &space{s.With(t)}
}

// createPod creates a pod directly, with only the given labels and owners.
func (s *space) createPod(name string, change func(pod *corev1.Pod)) *corev1.Pod {
	s.T.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "by-hand"}}},
	}
	change(pod)
	created, err := shared.kube.CoreV1().Pods(s.Name).Create(s.Ctx, pod, metav1.CreateOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return created
}

// labelled returns a function that gives a pod the label of a PodManager.
func labelled(manager string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{v1.LabelManager: manager} }
}

func (s *space) pod(name string) *corev1.Pod {
	s.T.Helper()
	pod, err := shared.kube.CoreV1().Pods(s.Name).Get(s.Ctx, name, metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return pod
}

// patchPod changes a pod's metadata with a merge patch.
func (s *space) patchPod(name, metadata string) *corev1.Pod {
	s.T.Helper()
	pod, err := shared.kube.CoreV1().Pods(s.Name).Patch(s.Ctx, name, types.MergePatchType,
		[]byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return pod
}

// deletePod deletes a pod without waiting until it is gone.
func (s *space) deletePod(name string) {
	s.T.Helper()
	if err := shared.kube.CoreV1().Pods(s.Name).Delete(s.Ctx, name, metav1.DeleteOptions{}); err != nil {
		s.T.Fatal(err)
	}
}

// touched reports whether the controller has ever changed the pod.
func touched(pod *corev1.Pod) bool {
	for _, entry := range pod.ManagedFields {
		if entry.Manager == fieldManager {
			return true
		}
	}
	return false
}

// held returns a spec whose pods, once deleted, stay until the test calls letGo. more has additional fields. When the test ends, the finalizers of
// the remaining pods are removed, because otherwise the namespace would never be deleted.
func (s *space) held(more string) string {
	s.T.Helper()
	s.T.Cleanup(func() {
		if s.T.Failed() {
			s.T.Logf("before the pods are let go:\n%s", s.Dump())
		}
		ctx := context.Background()
		_ = s.managers().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		_ = shared.kube.CoreV1().Namespaces().Delete(ctx, s.Name, metav1.DeleteOptions{})
		// Twice, in case a pod was being created in the meantime.
		for clean, deadline := 0, time.Now().Add(harness.Patience); clean < 2 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			clean++
			list, _ := shared.kube.CoreV1().Pods(s.Name).List(ctx, metav1.ListOptions{})
			for _, pod := range list.Items {
				if len(pod.Finalizers) > 0 {
					clean = 0
					_, _ = shared.kube.CoreV1().Pods(s.Name).Patch(ctx, pod.Name, types.MergePatchType,
						[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				}
			}
		}
	})
	return fmt.Sprintf("{%s, template: {metadata: {finalizers: [%s]}, spec: {containers: [{name: a, image: a}]}}}", more, holdFinalizer)
}

// letGo removes the finalizer of held pods.
func (s *space) letGo(names ...string) {
	s.T.Helper()
	for _, name := range names {
		_, err := shared.kube.CoreV1().Pods(s.Name).Patch(s.Ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // the pod may be gone by now
			s.T.Fatal(err)
		}
	}
}

// terminating returns the names of the terminating pods.
func (s *space) terminating() []string {
	s.T.Helper()
	var going []corev1.Pod
	for _, pod := range s.AllPods() {
		if pod.DeletionTimestamp != nil {
			going = append(going, pod)
		}
	}
	return podNames(going)
}

// awaitPods waits until exactly these pods, separated by spaces, are active.
func (s *space) awaitPods(names string) {
	s.T.Helper()
	s.Await("the pods "+names, func() (any, bool) {
		got := strings.Join(podNames(s.Pods()), " ")
		return got, got == names
	})
}
