package source

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// wholePod returns a pod as the API server sends it.
func wholePod(phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-0", Namespace: "ns", Labels: map[string]string{v1.LabelManager: "web", v1.LabelRevision: "1", "a": "b"},
			Annotations:     map[string]string{v1.AnnotationDelete: "true", v1.AnnotationFailuresBefore: "2", v1.AnnotationDisruptionsBefore: "1", v1.AnnotationInPlace: "{}", corev1.PodDeletionCost: "3", "a": "b"},
			ManagedFields:   []metav1.ManagedFieldsEntry{{}},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: "web", UID: "u", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app", Image: "i", Command: []string{"run"},
			StartupProbe: &corev1.Probe{PeriodSeconds: 5, FailureThreshold: 3}}}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}},
		Status: corev1.PodStatus{
			Phase: phase, PodIP: "10.0.0.1", ObservedGeneration: 3, Reason: "Evicted", Message: "low on memory",
			Conditions: conditions(corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady, v1.InPlaceReady, corev1.DisruptionTarget,
				corev1.PodResizePending, corev1.PodResizeInProgress),
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Image: "i", Started: ptr.To(true), ImageID: "id", ContainerID: "c", Ready: true, RestartCount: 2,
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}},
		},
	}
}

// conditions returns conditions that are True, except that the pod is not initialized.
func conditions(kinds ...corev1.PodConditionType) (all []corev1.PodCondition) {
	for _, kind := range kinds {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Why"}
		if kind == corev1.PodInitialized {
			c.Status = corev1.ConditionFalse
		}
		all = append(all, c)
	}
	return all
}

// Trim keeps the fields that pkg/plan reads, and drops the others.
func TestTrim(t *testing.T) {
	want := wholePod(corev1.PodRunning)
	delete(want.Labels, "a")
	delete(want.Annotations, "a")
	want.ManagedFields = nil
	want.Spec.Containers[0].Command, want.Spec.Containers[0].StartupProbe.FailureThreshold = nil, 0
	want.Status.PodIP = ""
	want.Status.Conditions = want.Status.Conditions[1:]
	status := &want.Status.ContainerStatuses[0]
	status.Image, status.ContainerID, status.Started = "", "", nil

	got := wholePod(corev1.PodRunning)
	if Trim(got); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// A finished pod keeps all conditions. A container whose startup probe has not succeeded yet keeps the field that says so. A pod of another
// controller keeps only its identity.
func TestTrimOtherPods(t *testing.T) {
	finished := wholePod(corev1.PodFailed)
	if Trim(finished); len(finished.Status.Conditions) != 7 {
		t.Errorf("conditions of a finished pod: %v", finished.Status.Conditions)
	}
	probed := wholePod(corev1.PodRunning)
	probed.Status.ContainerStatuses[0].Started = ptr.To(false)
	probed.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if Trim(probed); probed.Status.ContainerStatuses[0].Started == nil || *probed.Status.ContainerStatuses[0].Started {
		t.Errorf("a container whose startup probe has not succeeded counts as started: %+v", probed.Status.ContainerStatuses[0])
	}
	foreign, want := wholePod(corev1.PodRunning), wholePod(corev1.PodRunning)
	foreign.OwnerReferences[0].Kind, want.OwnerReferences[0].Kind = "ReplicaSet", "ReplicaSet"
	delete(want.Labels, "a")
	want.ManagedFields, want.Annotations, want.Spec, want.Status = nil, nil, corev1.PodSpec{}, corev1.PodStatus{}
	if Trim(foreign); !equality.Semantic.DeepEqual(foreign, want) {
		t.Errorf("a pod of another controller is\n%+v, want\n%+v", foreign, want)
	}
}

// An informer gets trimmed objects in lists and in events. A bookmark is not an object: its annotation tells the informer that it has
// received all objects.
func TestInformersGetTrimmedObjects(t *testing.T) {
	newPod := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{v1.LabelManager: "web", "a": "b"},
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	}
	events := watch.NewFake()
	source := &checkedSource{answered: func(context.Context, error) {}, source: &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{Items: []corev1.Pod{*newPod()}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
	}}
	informer := source.listWatch()
	list, err := informer.ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := informer.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func(kind watch.EventType) *corev1.Pod {
		go events.Action(kind, newPod())
		return (<-w.ResultChan()).Object.(*corev1.Pod)
	}
	for what, pod := range map[string]*corev1.Pod{
		"a list": &list.(*corev1.PodList).Items[0], "an event": next(watch.Added), "another": next(watch.Modified), "a last one": next(watch.Deleted),
	} {
		if len(pod.Labels) != 1 || len(pod.Annotations) != 0 {
			t.Errorf("the pod of %s is not trimmed: %+v", what, pod.ObjectMeta)
		}
	}
	if bookmark := next(watch.Bookmark); bookmark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("a bookmark became %+v", bookmark.ObjectMeta)
	}
}
