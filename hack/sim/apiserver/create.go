package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxNameTries is how many names the server generates before it gives up because all of them are taken.
const maxNameTries = 8

func (s *Server) create(ctx context.Context, r *Request) (*answer, error) {
	for try := 1; ; try++ {
		created, err := r.Resource.decode(r.Body)
		if err != nil {
			return nil, err
		}
		isGenerated := created.GetName() == "" && created.GetGenerateName() != ""
		written, err := s.add(ctx, r, created)
		if apierrors.IsAlreadyExists(err) && isGenerated && try < maxNameTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		return s.object(r, http.StatusCreated, written), nil
	}
}

// add stores a new object.
func (s *Server) add(ctx context.Context, r *Request, created Object) (*object, error) {
	if err := s.initialize(r, created); err != nil {
		return nil, err
	}
	if err := s.checkNamespace(r, created.GetName()); err != nil {
		return nil, err
	}
	if err := s.admit(ctx, &Review{Request: r, Operation: Create, Object: created}); err != nil {
		return nil, err
	}
	r.Resource.prepareCreate(created)
	errs := validation.ValidateObjectMetaAccessor(created, !r.Resource.has(clusterWide), validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.Resource.groupKind(), created.GetName(), errs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != r.epoch {
		return nil, errCut
	}
	if pod, isPod := created.(*corev1.Pod); isPod {
		if err := s.checkQuotas(r, pod); err != nil {
			return nil, err
		}
	}
	if s.tables[r.Resource.storage()].get(keyOf(r.Namespace, created.GetName())) != nil {
		return nil, apierrors.NewAlreadyExists(r.Resource.groupResource(), created.GetName())
	}
	if r.DryRun {
		return newObject(created, 0), nil
	}
	return s.commit(r, nil, created), nil
}

// initialize sets the metadata that the server owns.
func (s *Server) initialize(r *Request, created Object) error {
	switch {
	case created.GetNamespace() != "" && created.GetNamespace() != r.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case created.GetResourceVersion() != "":
		return fmt.Errorf("resourceVersion should not be set on objects to be created")
	case r.Name != "" && created.GetName() != r.Name: // an update that creates the object
		return wrongName(r, created)
	}
	if created.SetNamespace(r.Namespace); created.GetName() == "" && created.GetGenerateName() != "" {
		created.SetName(s.generateName(created.GetGenerateName()))
	}
	created.SetUID(s.newUID())
	created.SetCreationTimestamp(now())
	created.SetDeletionTimestamp(nil)
	created.SetDeletionGracePeriodSeconds(nil)
	created.SetGeneration(0)
	return nil
}

func wrongName(r *Request, o Object) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", o.GetName(), r.Name))
}

// generateName appends five random characters, as the API server does.
func (s *Server) generateName(base string) string {
	const characters, longest = "bcdfghjklmnpqrstvwxz2456789", 63 - 5
	s.mu.Lock()
	defer s.mu.Unlock()
	name := []byte(base[:min(len(base), longest)])
	for range 5 {
		name = append(name, characters[s.rand.IntN(len(characters))])
	}
	return string(name)
}

// prepareCreate sets the fields that clients cannot set.
func (r *Resource) prepareCreate(created Object) {
	if r.has(hasGeneration) {
		created.SetGeneration(1)
	}
	switch created := created.(type) {
	case *unstructured.Unstructured:
		if r.has(hasStatus) {
			delete(created.Object, "status")
			created.Object = r.schema.complete(created.Object).Object
		}
	case *corev1.Pod:
		created.Status = newPodStatus(created)
	case *corev1.Namespace:
		created.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		if !slices.Contains(created.Spec.Finalizers, corev1.FinalizerKubernetes) {
			created.Spec.Finalizers = append(created.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
		metav1.SetMetaDataLabel(&created.ObjectMeta, corev1.LabelMetadataName, created.Name)
	case *corev1.Node:
	default:
		if r.has(hasStatus) {
			reflect.ValueOf(created).Elem().FieldByName("Status").SetZero()
		}
	}
}

// CreateNamespace creates a namespace without a client.
func (s *Server) CreateNamespace(name string) error {
	r := &Request{Client: "server", Verb: "create", Resource: s.resource("namespaces"), Body: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name)}
	s.mu.Lock()
	r.epoch = s.epoch
	s.mu.Unlock()
	_, err := s.create(context.Background(), r)
	return err
}

// resource returns the resource with this name. The name must be unique across groups.
func (s *Server) resource(name string) *Resource {
	return s.resources[slices.IndexFunc(s.resources, func(r *Resource) bool { return r.Name == name })]
}
