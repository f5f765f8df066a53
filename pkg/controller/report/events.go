package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// reportEvents sends the events of a sync: one for each kind of action or failure, however many pods it affects.
func (r *Reporter) reportEvents(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *reconcile.Outcome) {
	event := func(reason, action string, pods []*corev1.Pod, verb, why string) {
		if len(pods) > 0 {
			// client-go merges events about the same objects into a series. With the first pod as the related object, batches stay separate.
			r.recorder.record(done.Manager, pods[0], corev1.EventTypeNormal, reason, action, fmt.Sprintf("%s %s%s", verb, podList(pods), why))
		}
	}
	if done.Collided != "" {
		r.recorder.warn(done.Manager, nil, v1.EventCollision, "StoreRevision",
			fmt.Sprintf("The new revision cannot be stored as %s, because another revision has that name: it gets another name", done.Collided))
	}
	event(v1.EventReleased, "Release", done.Released, "Released", "")
	event(v1.EventAdopted, "Adopt", done.Adopted, "Adopted", "")
	for why, pods := range deletedByReason(decided.Delete, done.Deleted) {
		event(v1.EventDeleted, "Delete", pods, "Deleted", ": "+string(why))
	}
	r.reportDisruptions(decided.Create, done)
	event(v1.EventCreated, "Create", done.Created, "Created", "")
	r.reportLeaving(decided.Create, done)
	event(v1.EventDraining, "Drain", done.Updated[inplace.StepDrain], "Took out of service for an update in place:", "")
	for why, pods := range r.Capabilities.GroupByDrainReason(done.Manager, done.Updated[inplace.StepUpdate]) {
		if why != "" {
			why = ", without being taken out of service first: " + why
		}
		event(v1.EventUpdated, "Update", pods, "Updated in place:", why)
	}
	r.reportForeign(key, decided.Foreign, done)
	r.reportFailure(ctx, key, done)
}

// reportDisruptions warns about disrupted pods, such as evicted ones, once their replacements are created.
func (r *Reporter) reportDisruptions(creations []plan.Creation, done *reconcile.Outcome) {
	created := make(map[string]bool, len(done.Created))
	for _, pod := range done.Created {
		created[pod.Name] = true
	}
	var replaced []*corev1.Pod
	for _, creation := range creations {
		if podstate.DescribeDisruption(creation.Failed) != "" && created[podstate.PodName(done.Manager.Name, creation.Index)] {
			replaced = append(replaced, creation.Failed)
		}
	}
	if len(replaced) == 0 {
		return
	}
	more := ""
	switch others := len(replaced) - 1; {
	case others == 1:
		more = "; so was 1 more"
	case others > 1:
		more = fmt.Sprintf("; so were %d more", others)
	}
	r.recorder.warn(done.Manager, replaced[0], v1.EventDisrupted, "Create",
		fmt.Sprintf("Replaced %s: %s%s", podList(replaced), podstate.DescribeDisruption(replaced[0]), more))
}

// reportLeaving reports pods whose replacements were created before they are gone.
func (r *Reporter) reportLeaving(creations []plan.Creation, done *reconcile.Outcome) {
	for _, creation := range creations {
		name := podstate.PodName(done.Manager.Name, creation.Index)
		if creation.Before == nil || !slices.ContainsFunc(done.Created, func(pod *corev1.Pod) bool { return pod.Name == name }) {
			continue
		}
		metrics.Leaving.WithLabelValues(string(creation.Before.Cause)).Inc()
		r.recorder.record(done.Manager, creation.Before.Pod, corev1.EventTypeNormal, v1.EventLeaving, "Create",
			fmt.Sprintf("Created pod %s before pod %s leaves: %s", name, creation.Before.Name, creation.Before.Why))
	}
}

// reportForeign warns, once for each name, that a foreign pod uses it.
func (r *Reporter) reportForeign(key cache.ObjectName, names []string, done *reconcile.Outcome) {
	state := r.States.Of(key)
	for _, name := range names {
		if slices.Contains(state.ReportedForeign, name) {
			continue
		}
		// With the related pod, client-go does not merge events about two names.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
		r.recorder.warn(done.Manager, pod, v1.EventNameTaken, "Create",
			fmt.Sprintf("Pod %s is not controlled by this PodManager: it is left alone, and another index is used", name))
	}
	state.ReportedForeign = names
}

// reportFailure sends a warning about a failure, and logs it if it is news. A repeated failure is the same event, whose count grows.
func (r *Reporter) reportFailure(ctx context.Context, key cache.ObjectName, done *reconcile.Outcome) {
	state := r.States.Of(key)
	if done.Failure == nil {
		state.ReportSuccess()
		return
	}
	failure := *done.Failure
	about, isNews := state.ReportFailure(failure, done.Manager)
	if !isNews && !done.FailedNow {
		return // its backoff is not over
	}
	reason, action := v1.EventFailedCreate, "Create"
	switch failure.Condition {
	case v1.ReasonFailedDelete:
		reason, action = v1.EventFailedDelete, "Delete"
	case v1.ReasonFailedInPlaceUpdate:
		reason, action = v1.EventFailedInPlaceUpdate, "Update"
	case v1.ReasonFailedStore:
		reason, action = v1.EventFailedStore, "StoreRevision"
	case v1.ReasonFailedClaim:
		reason, action = v1.EventFailedClaim, "Claim"
	case v1.ReasonFailedFinal:
		reason, action = v1.EventFailedFinal, "Finalize"
	}
	if isNews {
		klog.FromContext(ctx).V(2).Info("Requests fail", "reason", reason, "message", failure.Message)
	}
	r.recorder.warn(about, nil, reason, action, failure.Message)
}

// reportStatusFailure sends a warning, once, if the status cannot be written, because the status cannot report that itself.
func (r *Reporter) reportStatusFailure(key cache.ObjectName, manager *v1.PodManager, err error) {
	state := r.States.Of(key)
	refused := err != nil && (requeue.Failed(v1.EventFailedStatus, err).Refused() || apierrors.IsInternalError(err))
	if refused && !state.ReportedStatus {
		r.recorder.warn(manager, nil, v1.EventFailedStatus, "UpdateStatus", "The status cannot be written: "+requeue.ErrorText(err))
	}
	state.ReportedStatus = refused
}

// deletedByReason groups the deleted pods by the planned reason of their deletion.
func deletedByReason(planned []rollout.Deletion, deleted []*corev1.Pod) map[rollout.Why][]*corev1.Pod {
	why := make(map[string]rollout.Why, len(planned))
	for _, deletion := range planned {
		why[deletion.Pod.Name] = deletion.Why
	}
	byReason := map[rollout.Why][]*corev1.Pod{}
	for _, pod := range deleted {
		byReason[why[pod.Name]] = append(byReason[why[pod.Name]], pod)
	}
	return byReason
}

// podList returns "pod web-0", or "3 pods: web-0, web-1, web-2".
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
