package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// refusedWrite is a kind of write by the controller that policies and webhooks may refuse.
type refusedWrite struct {
	operation   apiserver.Operation
	resource    string
	subresource string
	// isOf restricts the kind further.
	isOf func(*apiserver.Review) bool
	// isTold means that ReplicaFailure and an event must report the refusal. goesOn means that pods must still be created.
	isTold, goesOn bool
}

var refusedWrites = map[string]refusedWrite{
	"create pods":      {operation: apiserver.Create, resource: "pods", isTold: true},
	"delete pods":      {operation: apiserver.Delete, resource: "pods", isTold: true, goesOn: true},
	"adopt pods":       {operation: apiserver.Update, resource: "pods", isOf: isAdoption, isTold: true, goesOn: true},
	"update pods":      {operation: apiserver.Update, resource: "pods", goesOn: true},
	"gates of pods":    {operation: apiserver.Update, resource: "pods", subresource: "status", goesOn: true},
	"create revisions": {operation: apiserver.Create, resource: "controllerrevisions", isTold: true},
	"update revisions": {operation: apiserver.Update, resource: "controllerrevisions", isTold: true, goesOn: true},
	"delete revisions": {operation: apiserver.Delete, resource: "controllerrevisions", isTold: true, goesOn: true},
	"finalizers":       {operation: apiserver.Update, resource: "podmanagers", isTold: true, goesOn: true},
	"statuses":         {operation: apiserver.Update, resource: "podmanagers", subresource: "status", goesOn: true},
}

func isAdoption(review *apiserver.Review) bool {
	return len(review.Old.GetOwnerReferences()) < len(review.Object.GetOwnerReferences())
}

// The answers to a refused write. The first four look permanent, the others temporary.
var refusedWith = []error{
	apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("the policy says no")),
	apierrors.NewInvalid(schema.GroupKind{}, "the policy says no", nil),
	apierrors.NewNotFound(schema.GroupResource{}, "the policy says no"),
	apierrors.NewConflict(schema.GroupResource{}, "", errors.New("the policy says no")),
	apierrors.NewTooManyRequests("the policy says no", 1),
	apierrors.NewInternalError(errors.New("the policy says no")),
	apierrors.NewTimeoutError("the policy says no", 1),
}

const (
	// Each course has five steps of a minute. A backoff that starts at 5 ms and doubles takes 12 tries to reach its maximum, and then retries four
	// times a minute. Each edit resets it.
	stepLength, mostTries = time.Minute, 160
)

// The API server refuses one kind of write, with one kind of error. The controller retries the write with backoff and reports the refusal, and
// unrelated work continues. Once the write is admitted again, everything converges.
func TestRefusals(t *testing.T) {
	if isRaced {
		t.Skip("the race detector makes this test ten times slower, and the courses have as much concurrency")
	}
	for name, write := range refusedWrites {
		for _, refusal := range refusedWith {
			code := refusal.(apierrors.APIStatus).Status().Code
			t.Run(fmt.Sprintf("%s: %d", name, code), func(t *testing.T) {
				inCluster(t, func(t *testing.T, c *Cluster) { testRefusal(t, c, write, refusal) })
			})
		}
	}
}

func testRefusal(t *testing.T, c *Cluster, write refusedWrite, refusal error) {
	isOn, tries := true, 0
	u := c.newUser(0)
	var warnings strings.Builder
	c.server.Admit(func(_ context.Context, review *apiserver.Review) error {
		if event, isEvent := review.Object.(*eventsv1.Event); isEvent && event.Type == corev1.EventTypeWarning {
			// The test does not read the warnings from the stored events: under fake time, two events of the same instant have the same name, and the second
			// one is not stored.
			fmt.Fprintln(&warnings, event.Note)
		}
		if !isOn || !write.matches(review) {
			return nil
		}
		tries++
		return refusal
	})
	failures, most := u.lead()
	checkTries(t, write, refusal, tries)
	refusedForGood := slices.Index(refusedWith, refusal) < 4
	isTold := strings.Contains(failures, "the policy says no") && strings.Contains(warnings.String(), "the policy says no")
	if refusedForGood && write.isTold && !isTold {
		t.Errorf("the refusal is not reported. ReplicaFailure: %s; events: %s", failures, &warnings)
	}
	if write.goesOn && most < 3 {
		t.Errorf("%d pods at the most, want 3", most)
	}
	isOn = false
	pause(c.ctx, 3*time.Minute)
	checkRecovered(t, u)
}

// matches reports whether a write is of this kind.
func (w refusedWrite) matches(review *apiserver.Review) bool {
	r := review.Request
	return isReplica(r) && r.Resource.Name == w.resource && review.Operation == w.operation && r.Subresource == w.subresource &&
		(w.isOf == nil || w.isOf(review))
}

// checkTries checks that a refused write was tried again with backoff.
func checkTries(t *testing.T, write refusedWrite, refusal error, tries int) {
	t.Helper()
	if apierrors.IsTooManyRequests(refusal) || apierrors.IsTimeout(refusal) {
		tries /= 5 // client-go retries such requests itself, after a second
	}
	if tries == 0 {
		t.Error("nothing was refused")
	}
	if write.resource == "podmanagers" && apierrors.IsConflict(refusal) {
		tries /= 2 // after a conflict the controller patches the status, which is refused, too
	}
	if tries > mostTries {
		t.Errorf("%d tries in five minutes, want %d at the most", tries, mostTries)
	}
}

// checkRecovered checks that nothing is left of the refusals once the write has been admitted again.
func checkRecovered(t *testing.T, u *user) {
	t.Helper()
	c := u.c
	manager, err := c.managers.AppsV1().PodManagers(u.namespace).Get(c.ctx, u.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady) || meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReplicaFailure) != nil {
		t.Errorf("after the recovery the conditions are %+v", manager.Status.Conditions)
	}
	c.judge.violations = nil
	if c.judge.checkTrue(); len(c.judge.violations) > 0 {
		t.Error(strings.Join(c.judge.violations, "\n"))
	}
}

// lead takes the PodManager through its life: it adopts an orphan, is updated in place, replaced, rolled back and scaled down. It returns the
// messages of ReplicaFailure and the maximum number of pods.
func (u *user) lead() (failures string, most int) {
	u.createOrphan()
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: u.name}, Spec: v1.PodManagerSpec{
		Replicas: ptr.To[int32](3), Image: "app:1", RevisionHistoryLimit: ptr.To[int32](1),
		ScaleDown: &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(1))},
		UpdateStrategy: v1.UpdateStrategy{RollingUpdate: &v1.RollingUpdate{
			PodUpdatePolicy: v1.InPlaceIfPossible, InPlaceGracePeriodSeconds: 2,
		}},
	}}
	_, err := u.c.managers.AppsV1().PodManagers(u.namespace).Create(u.c.ctx, manager, metav1.CreateOptions{})
	u.note("create", err)
	steps := []func(*v1.PodManager){
		nil,
		func(m *v1.PodManager) { m.Spec.Image = "app:2" },
		func(m *v1.PodManager) {
			m.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = v1.RecreatePods
			m.Spec.Image = "app:3"
		},
		func(m *v1.PodManager) { m.Spec.Image = "app:2" },
		func(m *v1.PodManager) { m.Spec.Replicas = ptr.To[int32](1) },
	}
	for _, step := range steps {
		if step != nil {
			u.edit(step)
		}
		for range 12 {
			pause(u.c.ctx, stepLength/12)
			if failure := u.failure(); !strings.Contains(failures, failure) {
				failures += failure + "\n"
			}
			most = max(most, len(u.pods()))
		}
	}
	return failures, most
}

// createOrphan creates a pod that the PodManager adopts.
func (u *user) createOrphan() {
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{v1.LabelManager: u.name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}}
	_, err := u.c.kube.CoreV1().Pods(u.namespace).Create(u.c.ctx, orphan, metav1.CreateOptions{})
	u.note("create an orphan", err)
}

// failure returns the message of ReplicaFailure.
func (u *user) failure() string {
	manager, err := u.c.managers.AppsV1().PodManagers(u.namespace).Get(u.c.ctx, u.name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	if failure := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReplicaFailure); failure != nil {
		return failure.Message
	}
	return ""
}
