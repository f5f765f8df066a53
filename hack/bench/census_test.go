package main

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// aPod runs an image, and may be ready.
func aPod(space, name, image string, ready bool) *corev1.Pod {
	pod := newPod("web", 0)
	pod.Namespace, pod.Name = space, name
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Image: image}}
	}
	pod.Spec.Containers[0].Image = image
	return pod
}

func TestCensus(t *testing.T) {
	c := emptyCensus(stateOfPod)
	exist := c.expect(allExist(3), "a", "b")
	ready := c.expect(allReady(2), "a", "b")
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	isMet := func(e *expectation[podState]) bool { return len(e.met) > 0 }

	do(c.Replace([]any{aPod("a", "1", oldImage, true)}, "1"))
	do(c.Add(aPod("b", "1", oldImage, false)))
	do(c.Add(aPod("elsewhere", "1", oldImage, true)))
	if isMet(exist) || isMet(ready) {
		t.Fatalf("too early: %v", c.sum([]string{"a", "b"}))
	}
	do(c.Add(aPod("b", "2", oldImage, false)))
	if !isMet(exist) || isMet(ready) {
		t.Fatal("three pods exist, one is ready")
	}
	do(c.Update(aPod("b", "2", oldImage, true)))
	if !isMet(ready) {
		t.Fatal("two pods are ready")
	}
	if at, err := ready.await(t.Context(), time.Second, "ready"); err != nil || time.Since(at) > time.Minute {
		t.Errorf("got %v, %v", at, err)
	}
	if names := c.names("b"); len(names) != 2 {
		t.Errorf("names are %v", names)
	}
	gone := c.expect(allGone, "b")
	do(c.Delete(aPod("b", "1", oldImage, false)))
	do(c.Delete(aPod("b", "2", oldImage, true)))
	if !isMet(gone) || !isMet(c.expect(allGone, "b")) {
		t.Error("the pods are gone")
	}
	do(c.Replace(nil, "2"))
	if sum := c.sum([]string{"a", "b", "elsewhere"}); sum.total() != 0 {
		t.Errorf("there are %v", sum)
	}
	_, err := c.expect(allExist(1), "a").await(t.Context(), time.Millisecond, "it exists")
	if err == nil || !strings.Contains(err.Error(), "until it exists") || len(c.expected) != 0 {
		t.Errorf("an expectation that is not met: %v", err)
	}
}

// Least and most are those of every moment, also of one that nobody looks at.
func TestCensusFollows(t *testing.T) {
	c := emptyCensus(stateOfPod)
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	do(c.Replace([]any{aPod("a", "1", oldImage, true), aPod("a", "2", oldImage, true), aPod("b", "1", oldImage, true)}, "1"))
	endAvailable, endActive := c.follow(available, "a"), c.follow(active, "a")
	do(c.Add(aPod("a", "3", newImage, false)))
	changing := aPod("a", "1", oldImage, true)
	changing.Spec.Containers[0].Image = newImage
	do(c.Update(changing))
	ending := aPod("a", "2", oldImage, true)
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	do(c.Update(ending))
	do(c.Update(aPod("a", "1", newImage, true)))
	do(c.Update(aPod("a", "3", newImage, true)))
	do(c.Delete(aPod("b", "1", oldImage, true)))
	if least, most := endAvailable(); least != 0 || most != 2 {
		t.Errorf("%d to %d were available", least, most)
	}
	if least, most := endActive(); least != 2 || most != 3 {
		t.Errorf("there were %d to %d pods", least, most)
	}
	if len(c.ranges) != 0 {
		t.Error("it goes on counting")
	}
}

func TestStateOfPod(t *testing.T) {
	changing := aPod("a", "1", oldImage, true)
	changing.Spec.Containers[0].Image = newImage
	ending := aPod("a", "1", oldImage, true)
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want podState
	}{
		"ready":                          {aPod("a", "1", oldImage, true), podState{image: oldImage, ready: true}},
		"pending":                        {aPod("a", "1", oldImage, false), podState{image: oldImage}},
		"its node has yet to change it":  {changing, podState{image: oldImage}},
		"on its way out and still ready": {ending, podState{image: oldImage, ready: true, ending: true}},
	} {
		if got := stateOfPod(test.pod); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestStateOfOwner(t *testing.T) {
	manager := newManager("web", 3, v1.RecreatePods)
	manager.Generation = 2
	manager.Status = v1.PodManagerStatus{ObservedGeneration: 2, Replicas: 3}
	ready := manager.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	good := ready.DeepCopy()
	good.Status.CurrentRevision, good.Status.UpdateRevision = "web-1", "web-1"
	rolledOut := good.DeepCopy()
	rolledOut.Status.UpdateRevision = "web-2"
	outdated := good.DeepCopy()
	outdated.Generation = 3
	terminating := ready.DeepCopy()
	terminating.Status.TerminatingReplicas = 1
	set := newReplicaSet("web", 3)
	set.Status = appsv1.ReplicaSetStatus{Replicas: 3, ReadyReplicas: 3}
	rolling := newDeployment("web", 3)
	rolling.Status = appsv1.DeploymentStatus{Replicas: 3, AvailableReplicas: 3, UpdatedReplicas: 2}
	for name, test := range map[string]struct {
		owner runtime.Object
		want  ownerState
	}{
		"not ready":                   {manager, ownerState{counted: true}},
		"ready":                       {ready, ownerState{counted: true, settled: true}},
		"known to be good":            {good, ownerState{counted: true, settled: true, good: true}},
		"with a revision to prove":    {rolledOut, ownerState{counted: true, settled: true}},
		"of another generation":       {outdated, ownerState{}},
		"with a pod on its way out":   {terminating, ownerState{counted: true}},
		"a ReplicaSet":                {set, ownerState{counted: true, settled: true, good: true}},
		"a Deployment on its way":     {rolling, ownerState{counted: true}},
		"something that owns nothing": {&corev1.Pod{}, ownerState{}},
	} {
		if got := stateOfOwner(test.owner); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestAllUpdated(t *testing.T) {
	done, replaced := allUpdated(2, newImage), allReplaced(2, newImage)
	good := podState{image: newImage, ready: true}
	for name, test := range map[string]struct {
		tally             tally[podState]
		updated, replaced bool
	}{
		"done":                    {tally[podState]{good: 2}, true, true},
		"one is not ready":        {tally[podState]{good: 1, {image: newImage}: 1}, false, false},
		"an old one is going":     {tally[podState]{good: 2, {image: oldImage, ending: true}: 1}, false, true},
		"an old one stays":        {tally[podState]{good: 2, {image: oldImage, ready: true}: 1}, false, false},
		"one too many":            {tally[podState]{good: 3}, false, false},
		"one of them is going":    {tally[podState]{good: 1, {image: newImage, ready: true, ending: true}: 1}, false, false},
		"all are still to change": {tally[podState]{{image: oldImage, ready: true}: 2}, false, false},
	} {
		if got := done(test.tally); got != test.updated {
			t.Errorf("%s: updated: got %v", name, got)
		}
		if got := replaced(test.tally); got != test.replaced {
			t.Errorf("%s: replaced: got %v", name, got)
		}
	}
}
