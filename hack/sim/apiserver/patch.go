package apiserver

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// errModified is the API server's error for an update of an old version.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// patched returns the present state with the request's patch applied.
func (r *Request) patched(present *object) (Object, error) {
	var typed runtime.Object
	if custom, isCustom := present.Object.(*unstructured.Unstructured); !isCustom {
		typed = r.Resource.newTyped()
	} else if strings.HasPrefix(r.contentType, string(types.MergePatchType)) {
		return r.merged(custom)
	}
	document, err := r.applyPatch(inJSON.encode(present.Object), typed)
	if err != nil {
		return nil, err
	}
	return r.Resource.decode(document)
}

// merged returns a custom resource with the request's merge patch applied. Most patches are merge patches, and applyPatch would be slow because it
// works on encoded documents.
func (r *Request) merged(present *unstructured.Unstructured) (Object, error) {
	var patch map[string]any
	if err := json.Unmarshal(r.Body, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	content := runtime.DeepCopyJSON(present.Object)
	merge(content, patch)
	return r.Resource.accept(r.Resource.schema.complete(content))
}

// merge applies a merge patch, see RFC 7386.
func merge(content, patch map[string]any) {
	for name, value := range patch {
		fields, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(content, name)
		case isObject:
			next, found := content[name].(map[string]any)
			if !found {
				next = map[string]any{}
				content[name] = next
			}
			merge(next, fields)
		default:
			content[name] = value
		}
	}
}

// applyPatch patches a document. typed is nil if the resource does not support strategic merge patches.
func (r *Request) applyPatch(original []byte, typed runtime.Object) ([]byte, error) {
	contentType, _, _ := mime.ParseMediaType(r.contentType)
	switch patchType := types.PatchType(contentType); {
	case patchType == types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		patched, err := patch.Apply(original)
		return patched, unprocessable(err)
	case patchType == types.MergePatchType:
		patched, err := jsonpatch.MergePatch(original, r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	case patchType == types.StrategicMergePatchType && typed != nil:
		patched, err := strategicpatch.StrategicMergePatch(original, r.Body, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
	}}
}

// unprocessable returns the error for a JSON patch that cannot be applied, for example because one of its tests fails.
func unprocessable(err error) error {
	if err == nil {
		return nil
	}
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}
