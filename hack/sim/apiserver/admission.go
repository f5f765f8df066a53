package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation is what a request does to an object.
type Operation string

const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
)

// Review describes the write that an admission hook is asked about.
type Review struct {
	Request   *Request
	Operation Operation
	// Object is the state that would be stored; nil for a deletion. A hook may change it.
	Object Object
	// Old is the present state; nil for a creation. A hook must not change it.
	Old Object
}

// Admission is a hook that may change the object, or refuse the write by returning an apierrors error. It may block, as a slow webhook does.
type Admission func(ctx context.Context, review *Review) error

// Admit adds an admission hook. Hooks run in the order in which they were added.
func (s *Server) Admit(hook Admission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admission = append(s.admission, hook)
}

func (s *Server) admit(ctx context.Context, review *Review) error {
	s.mu.Lock()
	hooks := s.admission
	s.mu.Unlock()
	for _, hook := range hooks {
		if err := hook(ctx, review); err != nil {
			return err
		}
	}
	return nil
}

// checkNamespace refuses to create an object of this name in a namespace that does not exist or is terminating.
func (s *Server) checkNamespace(r *Request, name string) error {
	if r.Resource.has(clusterWide) {
		return nil
	}
	namespace := s.get(s.resource("namespaces"), keyOf("", r.Namespace))
	switch {
	case namespace == nil:
		return apierrors.NewNotFound(corev1.Resource("namespaces"), r.Namespace)
	case namespace.GetDeletionTimestamp() == nil:
		return nil
	}
	refusal := apierrors.NewForbidden(r.Resource.groupResource(), name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", r.Namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", r.Namespace), Field: "metadata.namespace",
	})
	return refusal
}
