package apiserver

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// update serves PUT and PATCH.
func (s *Server) update(ctx context.Context, r *Request) (*answer, error) {
	if r.Verb == "update" && r.Resource.has(createsOnUpdate) && s.get(r.Resource, r.key()) == nil {
		return s.createByUpdate(ctx, r)
	}
	written, err := s.modify(r, func(present *object) (Object, error) {
		next, err := r.next(present)
		if err != nil {
			return nil, err
		}
		return next, s.prepareUpdate(ctx, r, next, present)
	})
	if err != nil {
		return nil, err
	}
	return s.object(r, http.StatusOK, written), nil
}

// next returns the state that the client asks for.
func (r *Request) next(present *object) (Object, error) {
	if r.Verb == "patch" {
		return r.patched(present)
	}
	return r.Resource.decode(r.Body)
}

// createByUpdate creates an object that an update has not found. If the update names a UID, the object was deleted in the meantime, and the update
// is refused.
func (s *Server) createByUpdate(ctx context.Context, r *Request) (*answer, error) {
	created, err := r.Resource.decode(r.Body)
	if err != nil {
		return nil, err
	}
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

// prepareUpdate validates the next state of an object, and restores the fields that the request cannot change.
func (s *Server) prepareUpdate(ctx context.Context, r *Request, next Object, present *object) error {
	if next.GetName() == "" {
		next.SetName(r.Name)
	}
	if next.GetNamespace() == "" {
		next.SetNamespace(r.Namespace)
	}
	switch {
	case next.GetName() != r.Name:
		return wrongName(r, next)
	case next.GetNamespace() != r.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if r.Verb == "update" {
		if err := checkUID(r, string(next.GetUID()), present); err != nil {
			return err
		}
	}
	if err := checkVersion(r, next.GetResourceVersion(), present); err != nil {
		return err
	}
	if err := s.admit(ctx, &Review{Request: r, Operation: Update, Object: next, Old: present.Object}); err != nil {
		return err
	}
	next.SetGeneration(present.GetGeneration())
	errs := r.keep(next, present)
	if r.Resource.has(hasGeneration) && r.Subresource != "status" && !sameSpec(next, present.Object) {
		next.SetGeneration(present.GetGeneration() + 1)
	}
	keepMetadata(next, present)
	if !sameMetadata(next, present.Object) {
		path := field.NewPath("metadata")
		errs = append(validation.ValidateObjectMetaAccessor(next, !r.Resource.has(clusterWide), validation.NameIsDNSSubdomain, path), errs...)
		// In the real server, both the generic code and the strategy of each kind validate the metadata, so each error is reported twice.
		again := validation.ValidateObjectMetaAccessorUpdate(next, present, path)
		errs = slices.Concat(errs, again, again)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(r.Resource.groupKind(), r.Name, errs)
	}
	return nil
}

// checkVersion refuses an update of any version other than the present one.
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

// keep restores the fields that a request for this subresource, or for the main resource, cannot change.
func (r *Request) keep(next Object, present *object) field.ErrorList {
	pod, isPod := next.(*corev1.Pod)
	custom, isCustom := next.(*unstructured.Unstructured)
	switch {
	case r.Subresource == "resize":
		return keepUnlessResized(pod, present.Object.(*corev1.Pod))
	case r.Subresource == "status" && isCustom:
		keepAllButStatus(custom, present.Object.(*unstructured.Unstructured))
		return nil
	case r.Subresource == "status":
		keepParts(next, present.Object, isSpec)
		if isPod {
			keepPodStatus(pod, present.Object.(*corev1.Pod))
		}
		return nil
	case r.Resource.has(hasStatus):
		keepParts(next, present.Object, func(part string) bool { return strings.EqualFold(part, "status") })
	}
	if isPod {
		return validatePodUpdate(pod, present.Object.(*corev1.Pod))
	}
	if namespace, isNamespace := next.(*corev1.Namespace); isNamespace {
		if r.Subresource == "" {
			namespace.Spec = present.Object.(*corev1.Namespace).Spec
		}
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, corev1.LabelMetadataName, r.Name)
	}
	return nil
}

// keepAllButStatus takes only the status of a custom resource from a request.
func keepAllButStatus(next, present *unstructured.Unstructured) {
	status, found := next.Object["status"]
	next.Object = maps.Clone(present.Object)
	next.Object["metadata"] = runtime.DeepCopyJSONValue(present.Object["metadata"]) // a copy: the server sets parts of it
	if delete(next.Object, "status"); found {
		next.Object["status"] = status
	}
}

// isSpec reports whether a part of an object is neither metadata nor status. Some kinds have parts other than a spec.
func isSpec(part string) bool {
	switch part {
	case "TypeMeta", "ObjectMeta", "Status", "metadata", "status":
		return false
	}
	return true
}

// keepParts restores the parts of an object that isKept selects.
func keepParts(next, present Object, isKept func(part string) bool) {
	if custom, isCustom := next.(*unstructured.Unstructured); isCustom {
		maps.DeleteFunc(custom.Object, func(part string, _ any) bool { return isKept(part) })
		for part, value := range present.(*unstructured.Unstructured).Object {
			if isKept(part) {
				custom.Object[part] = value
			}
		}
		return
	}
	to, from := reflect.ValueOf(next).Elem(), reflect.ValueOf(present).Elem()
	for i := range to.NumField() {
		if isKept(to.Type().Field(i).Name) {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// sameSpec reports whether two objects are equal except for metadata and status.
func sameSpec(a, b Object) bool {
	if custom, isCustom := a.(*unstructured.Unstructured); isCustom {
		isNoSpec := func(part string, _ any) bool { return !isSpec(part) }
		a, b := maps.Clone(custom.Object), maps.Clone(b.(*unstructured.Unstructured).Object)
		maps.DeleteFunc(a, isNoSpec)
		maps.DeleteFunc(b, isNoSpec)
		return reflect.DeepEqual(a, b)
	}
	one, other := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range one.NumField() {
		if isSpec(one.Type().Field(i).Name) && !equality.Semantic.DeepEqual(one.Field(i).Interface(), other.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// sameMetadata reports whether two objects have the same metadata, which then needs no validation.
func sameMetadata(a, b Object) bool {
	if custom, isCustom := a.(*unstructured.Unstructured); isCustom {
		return reflect.DeepEqual(custom.Object["metadata"], b.(*unstructured.Unstructured).Object["metadata"])
	}
	return equality.Semantic.DeepEqual(a.(metav1.ObjectMetaAccessor).GetObjectMeta(), b.(metav1.ObjectMetaAccessor).GetObjectMeta())
}

// keepMetadata restores the metadata that an update cannot change.
func keepMetadata(next Object, present *object) {
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
	if next.GetManagedFields() == nil {
		next.SetManagedFields(present.GetManagedFields())
	}
	if len(next.GetLabels()) == 0 {
		next.SetLabels(nil) // an empty map is omitted
	}
	if len(next.GetAnnotations()) == 0 {
		next.SetAnnotations(nil)
	}
}
