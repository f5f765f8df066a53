package census

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const oldImage, newImage = "nginx:1.27", "nginx:1.28"

// aPod returns a pod that runs an image, and may be ready.
func aPod(space, name, image string, ready bool) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
	}
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Image: image}}
	}
	return pod
}

func TestCensus(t *testing.T) {
	c := empty(stateOfPod)
	exist := c.Expect(AllExist(3), "a", "b")
	ready := c.Expect(AllReady(2), "a", "b")
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	isMet := func(e *Expectation[PodState]) bool { return len(e.met) > 0 }

	do(c.Replace([]any{aPod("a", "1", oldImage, true)}, "1"))
	do(c.Add(aPod("b", "1", oldImage, false)))
	do(c.Add(aPod("elsewhere", "1", oldImage, true)))
	if isMet(exist) || isMet(ready) {
		t.Fatalf("an expectation is met too early: %v", c.sum([]string{"a", "b"}))
	}
	do(c.Add(aPod("b", "2", oldImage, false)))
	if !isMet(exist) || isMet(ready) {
		t.Fatal("three pods exist and one is ready, but not exactly the expectation that three exist is met")
	}
	do(c.Update(aPod("b", "2", oldImage, true)))
	if !isMet(ready) {
		t.Fatal("two pods are ready, but that expectation is not met")
	}
	if at, err := ready.Await(t.Context(), time.Second, "ready"); err != nil || time.Since(at) > time.Minute {
		t.Errorf("got %v, %v", at, err)
	}
	if names := c.Names("b"); len(names) != 2 {
		t.Errorf("names are %v", names)
	}
	gone := c.Expect(AllGone, "b")
	do(c.Delete(aPod("b", "1", oldImage, false)))
	do(c.Delete(aPod("b", "2", oldImage, true)))
	if !isMet(gone) || !isMet(c.Expect(AllGone, "b")) {
		t.Error("the pods are gone, but an expectation of that is not met")
	}
	do(c.Replace(nil, "2"))
	if sum := c.sum([]string{"a", "b", "elsewhere"}); sum.total() != 0 {
		t.Errorf("there are %v", sum)
	}
}

func TestUnmetExpectation(t *testing.T) {
	c := empty(stateOfPod)
	_, err := c.Expect(AllExist(1), "a").Await(t.Context(), time.Millisecond, "it exists")
	if err == nil || !strings.Contains(err.Error(), "until it exists") || len(c.expected) != 0 {
		t.Errorf("an expectation that is not met: %v", err)
	}
}

// The lowest and the highest value cover every moment, even if no caller looks at that moment.
func TestCensusFollows(t *testing.T) {
	c := empty(stateOfPod)
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	do(c.Replace([]any{aPod("a", "1", oldImage, true), aPod("a", "2", oldImage, true), aPod("b", "1", oldImage, true)}, "1"))
	endAvailable, endActive := c.Follow(Available, "a"), c.Follow(Active, "a")
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
		t.Error("the census still counts, although no range is followed any more")
	}
}
