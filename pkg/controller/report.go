package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

// maxNamesInEvent bounds the length of an event's note.
const maxNamesInEvent = 10

// report tells what was done: in events, and in the status. It returns whether the status was written.
func (c *Controller) report(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *outcome) (bool, error) {
	c.reportEvents(key, decided, done)
	if done.finalized || done.outdated {
		return false, nil
	}
	pods := done.pods(observed.Pods)
	if done.hasActed() {
		pods = c.scopeOf(key.Namespace).newer(pods)
	}
	status, again := plan.Status(plan.Report{
		Manager: done.manager, Pods: pods, Failure: done.failure, Revisions: decided.Revisions,
		Waiting: decided.Waiting, Foreign: decided.Foreign, Now: observed.Now,
	})
	if decided.More && done.err == nil && done.failure == nil {
		c.enqueue(key, cause{trigger: triggerMore})
	}
	for _, wait := range []time.Duration{again, decided.Again} {
		if wait > 0 {
			c.enqueueAfter(key, wait)
		}
	}
	if !plan.StatusDiffers(&done.manager.Status, &status) {
		return false, nil
	}
	pace := &c.memories.of(key).pace
	acted, now := time.Duration(0), c.clock.Now()
	if done.hasActed() {
		acted = max(1, now.Sub(observed.Now))
	}
	if wait := pace.Wait(&done.manager.Status, &status, acted, done.failure, now); wait > 0 {
		klog.FromContext(ctx).V(4).Info("Status can wait", "wait", wait)
		c.enqueueAfter(key, wait)
		return false, nil
	}
	if err := c.writeStatus(ctx, key, done.manager, status); err != nil {
		return true, err
	}
	pace.Took = c.clock.Since(now)
	for _, step := range plan.Transitions(done.manager, &done.manager.Status, &status) {
		c.recorder.Eventf(done.manager, nil, step.Type, step.Reason, "RollOut", "%s", step.Message)
	}
	if done.manager.Status.FailedRevision != status.FailedRevision || done.manager.Status.CurrentRevision != status.CurrentRevision {
		c.enqueue(key, cause{trigger: triggerMore}) // it was written down, now something follows from it
	}
	return true, nil
}

// writeStatus writes a status that differs. A conflict means that somebody else has changed the object. What was observed
// stays true for the generation that the status names, so it is then patched onto whatever the object is by now: with a
// resourceVersion, somebody who writes often enough could keep the status from ever being written. What the status
// remembers of rollouts is another matter: if that has changed, another controller is at work, and knows better.
func (c *Controller) writeStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, status v1.PodManagerStatus) error {
	client := c.podManagers.AppsV1().PodManagers(key.Namespace)
	wanted := manager.DeepCopy()
	wanted.Status = status
	current, err := client.UpdateStatus(ctx, wanted, metav1.UpdateOptions{FieldManager: Name})
	if apierrors.IsConflict(err) {
		current, err = c.patchStatus(ctx, key, manager, status)
	}
	if apierrors.IsNotFound(err) {
		return nil // gone in the meantime: its deletion brings the key back
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	statusWrites.Inc()
	c.wroteManager(key, manager, current)
	klog.FromContext(ctx).V(2).Info("Status written", "replicas", status.Replicas, "ready", status.ReadyReplicas,
		"available", status.AvailableReplicas, "terminating", status.TerminatingReplicas, "observedGeneration", status.ObservedGeneration)
	return nil
}

// patchStatus writes a status whatever the resourceVersion, if nobody else has written one that matters.
func (c *Controller) patchStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, status v1.PodManagerStatus) (*v1.PodManager, error) {
	client := c.podManagers.AppsV1().PodManagers(key.Namespace)
	live, err := client.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !plan.RemembersTheSame(&live.Status, &manager.Status) {
		c.tracker.Saw(key, managersResource, live.ResourceVersion, c.clock.Now())
		return nil, errors.New("another controller has written it")
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": manager.UID},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Name}, "status")
}

// eventScheme knows the types that events are about.
func eventScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme for events: %w", err)
	}
	return scheme, nil
}

// reportEvents tells what was done or failed: one event for each kind of thing, however many pods it was done to.
func (c *Controller) reportEvents(key cache.ObjectName, decided plan.Plan, done *outcome) {
	event := func(kind, reason, action string, pods []*corev1.Pod, verb, why string) {
		if len(pods) > 0 {
			// Events about the same objects are counted as one series; the first pod keeps two batches apart.
			c.recorder.Eventf(done.manager, pods[0], kind, reason, action, "%s %s%s", verb, podList(pods), why)
		}
	}
	if done.collided != "" {
		c.recorder.Eventf(done.manager, nil, corev1.EventTypeWarning, v1.EventCollision, "StoreRevision",
			"The name %s is in use for something else: the revision gets another one", done.collided)
	}
	event(corev1.EventTypeNormal, v1.EventReleased, "Release", done.released, "Released", "")
	event(corev1.EventTypeNormal, v1.EventAdopted, "Adopt", done.adopted, "Adopted", "")
	for why, pods := range deletedByReason(decided.Delete, done.deleted) {
		event(corev1.EventTypeNormal, v1.EventDeleted, "Delete", pods, "Deleted", ": "+string(why))
	}
	c.reportDisruptions(decided.Create, done)
	event(corev1.EventTypeNormal, v1.EventCreated, "Create", done.created, "Created", "")
	event(corev1.EventTypeNormal, v1.EventDraining, "Drain", done.changed[plan.StepDrain], "Took out of service, to be updated in place,", "")
	drained, undrained := plan.ByDrained(done.manager, done.changed[plan.StepChange])
	event(corev1.EventTypeNormal, v1.EventUpdated, "Update", drained, "Updated in place", "")
	event(corev1.EventTypeNormal, v1.EventUpdated, "Update", undrained, "Updated in place", ", without being drained: made before inPlaceGracePeriodSeconds was set")
	c.reportForeign(key, decided.Foreign, done)
	c.reportFailure(key, done)
}

// reportDisruptions tells of pods that their nodes have stopped, once they are replaced.
func (c *Controller) reportDisruptions(creations []plan.Creation, done *outcome) {
	created := make(map[string]bool, len(done.created))
	for _, pod := range done.created {
		created[pod.Name] = true
	}
	var replaced []*corev1.Pod
	for _, creation := range creations {
		if plan.DisruptionOf(creation.Replaces) != "" && created[plan.PodName(done.manager.Name, creation.Index)] {
			replaced = append(replaced, creation.Replaces)
		}
	}
	if len(replaced) == 0 {
		return
	}
	more := ""
	if len(replaced) > 1 {
		more = fmt.Sprintf("; so were %d more", len(replaced)-1)
	}
	c.recorder.Eventf(done.manager, replaced[0], corev1.EventTypeWarning, v1.EventDisrupted, "Create", "Replaced %s: %s%s",
		podList(replaced), plan.DisruptionOf(replaced[0]), more)
}

// reportForeign warns, once for each name, that a pod of somebody else has it.
func (c *Controller) reportForeign(key cache.ObjectName, names []string, done *outcome) {
	memory := c.memories.of(key)
	for _, name := range names {
		if slices.Contains(memory.foreign, name) {
			continue
		}
		// The reference keeps events about two names from being counted as one.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
		c.recorder.Eventf(done.manager, pod, corev1.EventTypeWarning, v1.EventNameTaken, "Create",
			"Pod %s is somebody else's: it is left alone, and another index is used", name)
	}
	memory.foreign = names
}

// reportFailure sends a warning when a failure is new, or another one than before.
func (c *Controller) reportFailure(key cache.ObjectName, done *outcome) {
	memory := c.memories.of(key)
	if done.failure == nil {
		memory.told = nil
		return
	}
	if memory.told != nil && *memory.told == *done.failure {
		return
	}
	told := *done.failure
	memory.told = &told
	reason, action := v1.EventFailedCreate, "Create"
	switch told.Condition {
	case v1.ReasonFailedDelete:
		reason, action = v1.EventFailedDelete, "Delete"
	case v1.ReasonFailedChange:
		reason, action = v1.EventFailedChange, "Update"
	case v1.ReasonFailedStore:
		reason, action = v1.EventFailedStore, "StoreRevision"
	case v1.ReasonFailedClaim:
		reason, action = v1.EventFailedClaim, "Claim"
	}
	c.recorder.Eventf(done.manager, nil, corev1.EventTypeWarning, reason, action, "%s", told.Message)
}

// deletedByReason sorts the pods that were deleted by why that was planned.
func deletedByReason(planned []plan.Deletion, deleted []*corev1.Pod) map[plan.Why][]*corev1.Pod {
	why := make(map[string]plan.Why, len(planned))
	for _, deletion := range planned {
		why[deletion.Pod.Name] = deletion.Why
	}
	byReason := map[plan.Why][]*corev1.Pod{}
	for _, pod := range deleted {
		byReason[why[pod.Name]] = append(byReason[why[pod.Name]], pod)
	}
	return byReason
}

// podList is "pod web-0", or "3 pods: web-0, web-1, web-2".
func podList(pods []*corev1.Pod) string {
	if len(pods) == 1 {
		return "pod " + pods[0].Name
	}
	names := make([]string, 0, maxNamesInEvent)
	for _, pod := range pods[:min(len(pods), maxNamesInEvent)] {
		names = append(names, pod.Name)
	}
	list := fmt.Sprintf("%d pods: %s", len(pods), strings.Join(names, ", "))
	if more := len(pods) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
