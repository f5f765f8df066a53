package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// decode reads an object as the API server does: it drops unknown fields and fills in defaults. The object is in the form in which it is stored.
func (r *Resource) decode(body []byte) (map[string]any, error) {
	content := map[string]any{}
	typed := r.newTyped()
	if typed == nil {
		if err := json.Unmarshal(body, &content); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		metadata := content["metadata"]
		r.schema.prune(content)
		r.schema.fill(content)
		content["metadata"] = metadata
	} else {
		if err := decodeInto(body, typed); err != nil {
			return nil, err
		}
		if pod, isPod := typed.(*corev1.Pod); isPod {
			setPodDefaults(pod)
		}
		var err error
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if named, _ := content["kind"].(string); named != "" && named != r.Kind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", named, r.Kind))
	}
	content["kind"], content["apiVersion"] = r.Kind, r.GroupVersion().String()
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	delete(metadata, "managedFields")
	maps.DeleteFunc(metadata, func(_ string, value any) bool { return value == nil })
	content["metadata"] = metadata
	return content, nil
}

// decodeInto reads a Go value. Clients of built-in kinds may send protobuf.
func decodeInto(body []byte, into runtime.Object) error {
	var err error
	if bytes.HasPrefix(body, []byte("k8s\x00")) {
		_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, into)
	} else {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// maxNameTries is how often a name is generated anew if there is an object of that name.
const maxNameTries = 8

func (s *Server) create(ctx context.Context, r *Request) (*answer, error) {
	for try := 1; ; try++ {
		content, err := r.Resource.decode(r.Body)
		if err != nil {
			return nil, err
		}
		created := &unstructured.Unstructured{Object: content}
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
func (s *Server) add(ctx context.Context, r *Request, created *unstructured.Unstructured) (*object, error) {
	if err := s.initialize(r, created); err != nil {
		return nil, err
	}
	if err := s.checkNamespace(r); err != nil {
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
	if r.Resource.Kind == "Pod" {
		if err := s.checkQuotas(r, created); err != nil {
			return nil, err
		}
	}
	if s.tables[r.Resource.storage()].get(keyOf(r.Namespace, created.GetName())) != nil {
		return nil, apierrors.NewAlreadyExists(r.Resource.groupResource(), created.GetName())
	}
	if r.DryRun {
		return newObject(created.Object, 0), nil
	}
	return s.commit(r, nil, created.Object), nil
}

// initialize sets the metadata that is the server's.
func (s *Server) initialize(r *Request, created *unstructured.Unstructured) error {
	switch {
	case created.GetNamespace() != "" && created.GetNamespace() != r.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case created.GetResourceVersion() != "":
		return fmt.Errorf("resourceVersion should not be set on objects to be created")
	case r.Name != "" && created.GetName() != r.Name: // an update that creates
		return wrongName(r, created)
	}
	if created.SetNamespace(r.Namespace); created.GetName() == "" && created.GetGenerateName() != "" {
		created.SetName(s.generateName(created.GetGenerateName()))
	}
	created.SetUID(s.newUID())
	created.SetCreationTimestamp(metav1.Now())
	created.SetDeletionTimestamp(nil)
	created.SetDeletionGracePeriodSeconds(nil)
	unstructured.RemoveNestedField(created.Object, "metadata", "generation")
	return nil
}

func wrongName(r *Request, o *unstructured.Unstructured) error {
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

// prepareCreate sets what clients cannot set.
func (r *Resource) prepareCreate(created *unstructured.Unstructured) {
	if r.has(hasGeneration) {
		created.SetGeneration(1)
	}
	switch {
	case r.schema != nil:
		if r.has(hasStatus) {
			delete(created.Object, "status")
			metadata := created.Object["metadata"]
			r.schema.fill(created.Object)
			created.Object["metadata"] = metadata
		}
	case r.Kind == "Pod":
		created.Object["status"] = newPodStatus(created)
	case r.Kind == "Namespace":
		created.Object["status"] = map[string]any{"phase": string(corev1.NamespaceActive)}
		finalizers, _, _ := unstructured.NestedStringSlice(created.Object, "spec", "finalizers")
		if own := string(corev1.FinalizerKubernetes); !slices.Contains(finalizers, own) {
			finalizers = append(finalizers, own)
		}
		_ = unstructured.SetNestedStringSlice(created.Object, finalizers, "spec", "finalizers") // a decoded spec is a map
		addLabel(created, corev1.LabelMetadataName, created.GetName())
	case r.has(hasStatus) && r.Kind != "Node":
		created.Object["status"] = map[string]any{}
	}
}

func addLabel(o *unstructured.Unstructured, name, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[name] = value
	o.SetLabels(labels)
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

// resource is the resource of a name that only one group has.
func (s *Server) resource(name string) *Resource {
	return s.resources[slices.IndexFunc(s.resources, func(r *Resource) bool { return r.Name == name })]
}
