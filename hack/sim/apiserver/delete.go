package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

func (s *Server) delete(ctx context.Context, r *Request) (*answer, error) {
	options, err := r.deleteOptions()
	if err != nil {
		return nil, err
	}
	deleted, isGone, err := s.remove(ctx, r, options)
	if err != nil {
		return nil, err
	}
	if isGone && !r.Resource.has(returnsDeleted) {
		return object200(success(&metav1.StatusDetails{Name: r.Name, Group: r.Resource.Group, Kind: r.Resource.Name, UID: deleted.GetUID()})), nil
	}
	return s.object(r, http.StatusOK, deleted), nil
}

// deleteOptions returns the options from the body. Without a body, it takes them from the query.
func (r *Request) deleteOptions() (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(r.Body) > 0 {
		if err := decodeInto(r.Body, options); err != nil {
			return nil, err
		}
	} else {
		if policy := metav1.DeletionPropagation(r.query.Get("propagationPolicy")); policy != "" {
			options.PropagationPolicy = &policy
		}
		if seconds, err := strconv.ParseInt(r.query.Get("gracePeriodSeconds"), 10, 64); err == nil {
			options.GracePeriodSeconds = &seconds
		}
	}
	r.DryRun = r.DryRun || slices.Contains(options.DryRun, metav1.DryRunAll)
	return options, nil
}

// remove deletes an object or marks it as terminating. isGone is false if the object still exists.
func (s *Server) remove(ctx context.Context, r *Request, options *metav1.DeleteOptions) (deleted *object, isGone bool, err error) {
	for {
		present := s.get(r.Resource, r.key())
		if present == nil {
			return nil, false, apierrors.NewNotFound(r.Resource.groupResource(), r.Name)
		}
		if err := checkPreconditions(r, options.Preconditions, present); err != nil {
			return nil, false, err
		}
		if err := s.admit(ctx, &Review{Request: r, Operation: Delete, Old: present.Object}); err != nil {
			return nil, false, err
		}
		s.mu.Lock()
		if s.epoch != r.epoch {
			s.mu.Unlock()
			return nil, false, errCut
		}
		if s.tables[r.Resource.storage()].get(present.key) == present {
			deleted, isGone = s.removePresent(r, options, present)
			s.mu.Unlock()
			return deleted, isGone, nil
		}
		s.mu.Unlock()
	}
}

func checkPreconditions(r *Request, wanted *metav1.Preconditions, present *object) error {
	if wanted == nil {
		return nil
	}
	kind := schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Kind} // the real API server puts the kind where the resource belongs
	if uid := wanted.UID; uid != nil && *uid != present.GetUID() {
		return apierrors.NewConflict(kind, r.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *uid, present.GetUID()))
	}
	if version := wanted.ResourceVersion; version != nil && *version != present.GetResourceVersion() {
		return apierrors.NewConflict(kind, r.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion "+
			"in record (%s). The object might have been modified", *version, present.GetResourceVersion()))
	}
	return nil
}

// removePresent carries out a deletion. The caller holds the lock.
func (s *Server) removePresent(r *Request, options *metav1.DeleteOptions, present *object) (*object, bool) {
	next := copyOf(present.Object)
	if namespace, isNamespace := next.(*corev1.Namespace); isNamespace && terminateNamespace(namespace) {
		return s.write(r, present, next), false
	}
	isGraceful, isPending := false, false
	if pod, isPod := next.(*corev1.Pod); isPod {
		isGraceful, isPending = shortenGrace(pod, options)
	}
	if isPending {
		return present, false
	}
	finalizers := finalizersFor(options, present.GetFinalizers())
	next.SetFinalizers(finalizers)
	switch {
	case isGraceful && (len(finalizers) > 0 || *next.GetDeletionGracePeriodSeconds() > 0):
		return s.write(r, present, next), false
	case isGraceful: // watchers see a pod without a grace period terminate before it is deleted
		present = s.write(r, present, next)
	case len(finalizers) > 0:
		markDeleted(next)
		return s.write(r, present, next), false
	}
	return s.write(r, present, nil), true
}

// write commits the new state unless the request is a dry run.
func (s *Server) write(r *Request, present *object, content Object) *object {
	switch {
	case !r.DryRun:
		return s.commit(r, present, content)
	case content == nil:
		return present
	default:
		return newObject(content, present.version)
	}
}

// terminateNamespace marks a namespace as terminating. It reports whether the namespace stays for now because its content has to be deleted first.
func terminateNamespace(namespace *corev1.Namespace) bool {
	if namespace.DeletionTimestamp == nil {
		namespace.DeletionTimestamp, namespace.Status.Phase = ptr.To(now()), corev1.NamespaceTerminating
		return true
	}
	return len(namespace.Spec.Finalizers) > 0
}

// shortenGrace sets or shortens the grace period of a pod. isPending reports that the pod is already terminating, at least as soon as requested.
func shortenGrace(pod *corev1.Pod, options *metav1.DeleteOptions) (isGraceful, isPending bool) {
	wanted := options.GracePeriodSeconds
	if wanted != nil && *wanted < 0 {
		wanted = ptr.To[int64](1)
	}
	if deleted := pod.DeletionTimestamp; deleted != nil {
		given := ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
		if given == 0 {
			return false, false
		}
		if wanted == nil || *wanted >= given {
			return false, true
		}
		period, end := *wanted, metav1.NewTime(deleted.Add(time.Duration(*wanted-given)*time.Second))
		if end.Time.Before(time.Now()) {
			end, period = now(), min(period, 1)
		}
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &end, &period
		return true, false
	}
	period := ptr.Deref(wanted, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0))
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		period = 0
	}
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(now().Add(time.Duration(period) * time.Second)))
	pod.DeletionGracePeriodSeconds = &period
	pod.Generation++
	return true, false
}

// markDeleted marks an object as terminating while it waits for its finalizers.
func markDeleted(o Object) {
	if o.GetDeletionTimestamp() == nil && o.GetGeneration() > 0 {
		o.SetGeneration(o.GetGeneration() + 1)
	}
	if now := now(); o.GetDeletionTimestamp() == nil || now.Before(o.GetDeletionTimestamp()) {
		o.SetDeletionTimestamp(&now)
	}
	o.SetDeletionGracePeriodSeconds(ptr.To[int64](0))
}

// finalizersFor returns the finalizers of an object that is deleted with these options. The garbage collector removes the ones it handles.
func finalizersFor(options *metav1.DeleteOptions, present []string) []string {
	orphans := slices.Contains(present, metav1.FinalizerOrphanDependents)
	foreground := slices.Contains(present, metav1.FinalizerDeleteDependents) && !orphans
	if policy := options.PropagationPolicy; policy != nil {
		orphans, foreground = *policy == metav1.DeletePropagationOrphan, *policy == metav1.DeletePropagationForeground
	}
	finalizers := slices.DeleteFunc(slices.Clone(present), func(name string) bool {
		return name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
	})
	if orphans {
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	return finalizers
}

// deleteCollection deletes all selected objects one by one.
func (s *Server) deleteCollection(ctx context.Context, r *Request) (*answer, error) {
	selected, err := newSelection(r)
	if err != nil {
		return nil, err
	}
	options, err := r.deleteOptions()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	all := slices.Clone(s.tables[r.Resource.storage()].objects)
	s.mu.Unlock()
	var deleted []*object
	for _, o := range all {
		if !selected.matches(o) {
			continue
		}
		one := *r
		one.Namespace, one.Name, one.text = o.GetNamespace(), o.GetName(), ""
		if _, _, err := s.remove(ctx, &one, options.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		deleted = append(deleted, o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	selected.namespace = "" // the deleted objects were selected by namespace already
	return page{}.encode(r, selected, deleted, s.version), nil
}
