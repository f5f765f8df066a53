package apiserver

import (
	"context"
	"maps"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// update serves PUT and PATCH.
func (s *Server) update(ctx context.Context, r *Request) (*answer, error) {
	if r.Verb == "update" && r.Resource.has(createsOnUpdate) && s.get(r.Resource, r.key()) == nil {
		return s.createByUpdate(ctx, r)
	}
	written, err := s.modify(r, func(present *object) (map[string]any, error) {
		content, err := r.next(present)
		if err != nil {
			return nil, err
		}
		return s.prepareUpdate(ctx, r, &unstructured.Unstructured{Object: content}, present)
	})
	if err != nil {
		return nil, err
	}
	return s.object(r, http.StatusOK, written), nil
}

// next is the state that a client wants.
func (r *Request) next(present *object) (map[string]any, error) {
	if r.Verb == "patch" {
		return r.patched(present)
	}
	return r.Resource.decode(r.Body)
}

// createByUpdate creates an object that an update has not found. An object that names a UID was deleted meanwhile.
func (s *Server) createByUpdate(ctx context.Context, r *Request) (*answer, error) {
	content, err := r.Resource.decode(r.Body)
	if err != nil {
		return nil, err
	}
	created := &unstructured.Unstructured{Object: content}
	if err := checkUID(r, string(created.GetUID()), nil); err != nil {
		return nil, err
	}
	created.SetResourceVersion("")
	written, err := s.add(ctx, r, created)
	if err != nil {
		return nil, err
	}
	return s.object(r, http.StatusCreated, written), nil
}

// prepareUpdate checks the next state of an object, and keeps what the request cannot change.
func (s *Server) prepareUpdate(ctx context.Context, r *Request, next *unstructured.Unstructured, present *object) (map[string]any, error) {
	if next.GetName() == "" {
		next.SetName(r.Name)
	}
	if next.GetNamespace() == "" {
		next.SetNamespace(r.Namespace)
	}
	switch {
	case next.GetName() != r.Name:
		return nil, wrongName(r, next)
	case next.GetNamespace() != r.Namespace:
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if r.Verb == "update" {
		if err := checkUID(r, string(next.GetUID()), present); err != nil {
			return nil, err
		}
	}
	if err := checkVersion(r, next.GetResourceVersion(), present); err != nil {
		return nil, err
	}
	if err := s.admit(ctx, &Review{Request: r, Operation: Update, Object: next, Old: present.Unstructured}); err != nil {
		return nil, err
	}
	next.SetGeneration(present.GetGeneration())
	errs := r.keep(next, present)
	if r.Resource.has(hasGeneration) && r.Subresource != "status" && !sameSpec(next.Object, present.Object) {
		next.SetGeneration(present.GetGeneration() + 1)
	}
	keepMetadata(next, present)
	path := field.NewPath("metadata")
	errs = append(validation.ValidateObjectMetaAccessor(next, !r.Resource.has(clusterWide), validation.NameIsDNSSubdomain, path), errs...)
	// Both the generic part of the real server and the strategy of each kind check the metadata, so that each error comes twice.
	for range 2 {
		errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(next, present, path)...)
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.Resource.groupKind(), r.Name, errs)
	}
	return next.Object, nil
}

// checkVersion refuses an update of another version than the present one.
func checkVersion(r *Request, version string, present *object) error {
	group := r.Resource.groupResource()
	switch {
	case version == "" && !r.Resource.has(needsVersion), version == present.GetResourceVersion():
		return nil
	case version == "":
		return apierrors.NewInvalid(schema.GroupKind{Group: group.Group, Kind: group.Resource}, r.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	return apierrors.NewConflict(group, r.Name, errModified)
}

// keep puts back what the subresource, or the resource without one, cannot change.
func (r *Request) keep(next *unstructured.Unstructured, present *object) field.ErrorList {
	switch isPod := r.Resource.Kind == "Pod"; {
	case r.Subresource == "resize":
		return keepUnlessResized(next, present)
	case r.Subresource == "status" && r.Resource.schema != nil:
		status, found := next.Object["status"]
		next.Object = present.DeepCopy().Object
		if delete(next.Object, "status"); found {
			next.Object["status"] = status
		}
		return nil
	case r.Subresource == "status":
		for name, value := range present.Object {
			if name != "metadata" && name != "status" {
				next.Object[name] = value
			}
		}
		if isPod {
			keepPodStatus(next, present)
		}
		return nil
	case r.Resource.has(hasStatus):
		keepField(next, present, "status")
	}
	switch {
	case r.Resource.Kind == "Pod":
		return validatePodUpdate(next, present)
	case r.Resource.Kind == "Namespace":
		if r.Subresource == "" {
			keepField(next, present, "spec")
		}
		addLabel(next, "kubernetes.io/metadata.name", r.Name)
	}
	return nil
}

func keepField(next *unstructured.Unstructured, present *object, name string) {
	if value, found := present.Object[name]; found {
		next.Object[name] = value
	} else {
		delete(next.Object, name)
	}
}

// keepMetadata keeps what no update can change.
func keepMetadata(next *unstructured.Unstructured, present *object) {
	if next.GetUID() == "" {
		next.SetUID(present.GetUID())
	}
	next.SetCreationTimestamp(present.GetCreationTimestamp())
	if deleted := present.GetDeletionTimestamp(); deleted != nil {
		next.SetDeletionTimestamp(deleted)
	}
	if grace := present.GetDeletionGracePeriodSeconds(); grace != nil && next.GetDeletionGracePeriodSeconds() == nil {
		next.SetDeletionGracePeriodSeconds(grace)
	}
	next.SetResourceVersion(present.GetResourceVersion())
	if metadata, ok := next.Object["metadata"].(map[string]any); ok {
		for _, name := range []string{"labels", "annotations"} { // which are left out when they are empty
			if values, isMap := metadata[name].(map[string]any); isMap && len(values) == 0 {
				delete(metadata, name)
			}
		}
	}
}

// sameSpec compares all but metadata and status.
func sameSpec(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	for _, name := range []string{"metadata", "status"} {
		delete(a, name)
		delete(b, name)
	}
	return equal(a, b)
}
