package apiserver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Object is an object as the server stores it: a Go type of Kubernetes, or an *unstructured.Unstructured for a custom resource.
type Object interface {
	runtime.Object
	metav1.Object
}

func copyOf(o Object) Object { return o.DeepCopyObject().(Object) }

// decode reads an object as the API server does: it drops unknown fields and fills in defaults.
func (r *Resource) decode(body []byte) (Object, error) {
	var decoded Object
	if r.schema != nil {
		content := map[string]any{}
		if err := json.Unmarshal(body, &content); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		decoded = r.schema.complete(content)
	} else {
		decoded = r.newTyped()
		if err := decodeInto(body, decoded); err != nil {
			return nil, err
		}
		if pod, isPod := decoded.(*corev1.Pod); isPod {
			setPodDefaults(pod)
		}
	}
	return r.accept(decoded)
}

// accept refuses an object of another kind, and drops what only the server sets.
func (r *Resource) accept(decoded Object) (Object, error) {
	if named := decoded.GetObjectKind().GroupVersionKind().Kind; named != "" && named != r.Kind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", named, r.Kind))
	}
	decoded.GetObjectKind().SetGroupVersionKind(r.GroupVersionKind)
	decoded.SetManagedFields(nil)
	return decoded, nil
}

// complete returns an object with the defaults of the schema and without unknown fields.
func (s *Schema) complete(content map[string]any) *unstructured.Unstructured {
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	maps.DeleteFunc(metadata, func(_ string, value any) bool { return value == nil })
	delete(content, "metadata") // the schema does not describe metadata
	s.prune(content)
	s.fill(content)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}

// decodeInto decodes a body into a Go value. Clients of built-in kinds may send protobuf.
func decodeInto(body []byte, into runtime.Object) error {
	var err error
	if bytes.HasPrefix(body, []byte("k8s\x00")) {
		_, _, err = protobufSerializer.Decode(body, nil, into)
	} else {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

var protobufSerializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// view is an encoding in which clients see objects.
type view int

const (
	inJSON view = iota
	metadataInJSON
	inProtobuf
	views
)

// viewFor returns the view for an Accept header. Custom resources, metadata and errors are always in JSON.
func (r *Resource) viewFor(accepted string) view {
	switch {
	case strings.Contains(accepted, "as=PartialObjectMetadata"):
		return metadataInJSON
	case strings.HasPrefix(accepted, runtime.ContentTypeProtobuf) && r.schema == nil:
		return inProtobuf
	}
	return inJSON
}

func (v view) mediaType() string {
	if v == inProtobuf {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

func (v view) encode(o runtime.Object) []byte {
	custom, isCustom := o.(*unstructured.Unstructured)
	switch {
	case v == metadataInJSON && isCustom:
		return encode(map[string]any{"kind": partial.Kind, "apiVersion": partial.APIVersion, "metadata": custom.Object["metadata"]})
	case v == metadataInJSON:
		metadata := o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
		return encode(&metav1.PartialObjectMetadata{TypeMeta: partial, ObjectMeta: *metadata})
	case isCustom:
		return encode(custom.Object)
	case v == inJSON:
		return encode(o)
	}
	var encoded bytes.Buffer
	if err := protobufSerializer.Encode(o, &encoded); err != nil {
		panic(err) // cannot happen: all built-in kinds support protobuf
	}
	return encoded.Bytes()
}

var partial = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}

// encodeEvent encodes a watch event: a line in JSON, or a frame in protobuf.
func (v view) encodeEvent(event watch.EventType, object []byte) []byte {
	if v != inProtobuf {
		return fmt.Appendf(make([]byte, 0, len(object)+40), `{"type":"%s","object":%s}`+"\n", event, object)
	}
	encoded, err := (&metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		panic(err) // cannot happen: the event holds only bytes
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(encoded))), encoded...)
}

func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen: API types can be encoded
	}
	return encoded
}
