package source

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Trim keeps the fields that pkg/plan reads, and drops the others.
func TestTrim(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: "Why"}
	}
	newPod := func(phase corev1.PodPhase) *corev1.Pod {
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
				Conditions: []corev1.PodCondition{condition(corev1.PodScheduled, "True"), condition(corev1.PodInitialized, "False"),
					condition(corev1.PodReady, "True"), condition(v1.InPlaceReady, "True"), condition(corev1.DisruptionTarget, "True"),
					condition(corev1.PodResizePending, "True"), condition(corev1.PodResizeInProgress, "True")},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Image: "i", Started: ptr.To(true), ImageID: "id", ContainerID: "c", Ready: true, RestartCount: 2,
					State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}},
			},
		}
	}
	kinds := func(pod *corev1.Pod) []corev1.PodConditionType {
		var all []corev1.PodConditionType
		for _, c := range pod.Status.Conditions {
			all = append(all, c.Type)
		}
		return all
	}
	trim := func(pod *corev1.Pod) *corev1.Pod {
		Trim(pod)
		return pod
	}

	ours := trim(newPod(corev1.PodRunning))
	if ours.Name != "web-0" || ours.Labels[v1.LabelManager] != "web" || ours.Labels[v1.LabelRevision] != "1" || len(ours.Annotations) != 5 || ControllerOf(ours) == nil ||
		ours.Spec.NodeName != "n" || len(ours.Spec.Containers) != 1 || ours.Spec.Containers[0].Image != "i" || ours.Spec.Containers[0].StartupProbe.PeriodSeconds != 5 || len(ours.Spec.ReadinessGates) != 1 || ours.Status.ObservedGeneration != 3 ||
		ours.Status.Reason != "Evicted" || ours.Status.Message != "low on memory" {
		t.Errorf("something is missing: %+v", ours)
	}
	c := ours.Status.ContainerStatuses[0]
	if c.Name != "app" || c.ImageID != "id" || !c.Ready || c.RestartCount != 2 || c.State.Waiting == nil || c.LastTerminationState.Terminated == nil {
		t.Errorf("something is missing: %+v", c)
	}
	if ours.ManagedFields != nil || len(ours.Labels) != 2 || ours.Annotations["a"] != "" || ours.Spec.Containers[0].Command != nil || ours.Spec.Containers[0].StartupProbe.FailureThreshold != 0 || ours.Status.PodIP != "" || c.ContainerID != "" || c.Image != "" || c.Started != nil {
		t.Errorf("something was not dropped: %+v", ours)
	}
	if got := kinds(ours); !slices.Equal(got, []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, v1.InPlaceReady,
		corev1.DisruptionTarget, corev1.PodResizePending, corev1.PodResizeInProgress}) {
		t.Errorf("conditions %v", got)
	}
	if got := kinds(trim(newPod(corev1.PodFailed))); len(got) != 7 {
		t.Errorf("conditions %v of a finished pod", got)
	}
	probed := newPod(corev1.PodRunning)
	probed.Status.ContainerStatuses[0].Started = ptr.To(false)
	probed.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if got := trim(probed).Status.ContainerStatuses[0].Started; got == nil || *got {
		t.Errorf("a container whose startup probe has not succeeded has started: %v", got)
	}
	foreign := newPod(corev1.PodRunning)
	foreign.OwnerReferences[0].Kind = "ReplicaSet"
	if foreign = trim(foreign); foreign.Status.Phase != "" || foreign.Spec.NodeName != "" || len(foreign.OwnerReferences) != 1 || foreign.Labels[v1.LabelManager] != "web" || foreign.Annotations != nil {
		t.Errorf("somebody else's pod: %+v", foreign)
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
			t.Errorf("the pod of %s is whole: %+v", what, pod.ObjectMeta)
		}
	}
	if bookmark := next(watch.Bookmark); bookmark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("a bookmark became %+v", bookmark.ObjectMeta)
	}
}
