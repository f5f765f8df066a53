package source

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/bounds"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/scheme"
	managersv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
)

// Undecodable is an annotation that marks, in the cache only, a PodManager that could not be decoded. The value is the reason.
const Undecodable = "apps.mycompany.com/undecodable"

var managerResource = v1.GroupVersionKind.GroupVersion().WithResource("podmanagers")

// NewManagerClient returns a client of PodManagers that decodes each object separately. An object that does not fit the Go type, or that would take
// too much time or memory to decode, keeps its identity, its status if that fits, and the Undecodable annotation. With the generated client, one
// object that does not fit the Go type makes the whole list fail, so that the informer cannot sync. A stored object may not fit if the CRD was
// edited, or if the CRD is of another version.
func NewManagerClient(config *rest.Config) (managersv1.AppsV1Interface, error) {
	config = rest.CopyConfig(config)
	version := managerResource.GroupVersion()
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = tolerantCodecs{scheme.Codecs.WithoutConversion()}
	client, err := rest.RESTClientFor(config)
	return managersv1.New(client), err
}

// tolerantCodecs decodes responses of the API server with tolerantDecoder.
type tolerantCodecs struct{ runtime.NegotiatedSerializer }

func (c tolerantCodecs) DecoderToVersion(serializer runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return tolerantDecoder{c.NegotiatedSerializer.DecoderToVersion(serializer, version)}
}

// tolerantDecoder decodes PodManagers, and leaves other objects, such as errors of the API server, to the default decoder.
type tolerantDecoder struct{ runtime.Decoder }

func (d tolerantDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if list, isList := into.(*v1.PodManagerList); isList {
		return list, nil, decodeList(data, list)
	}
	if manager := decode(data); manager.Kind == v1.Kind {
		if target, isGiven := into.(*v1.PodManager); isGiven { // a watch passes no target
			*target = *manager
			manager = target
		}
		return manager, &v1.GroupVersionKind, nil
	}
	return d.Decoder.Decode(data, defaults, into)
}

func decodeList(data []byte, list *v1.PodManagerList) error {
	var parts struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	list.TypeMeta, list.ListMeta, list.Items = parts.TypeMeta, parts.Metadata, make([]v1.PodManager, 0, len(parts.Items))
	for _, item := range parts.Items {
		list.Items = append(list.Items, *decode(item))
	}
	return nil
}

// decode always returns a PodManager. If the object does not fit the Go type, or would take too much time or memory to decode, the PodManager has
// its identity, its status if that fits, and the Undecodable annotation.
func decode(data []byte) *v1.PodManager {
	manager := &v1.PodManager{}
	err := bounds.Unmarshal(data, manager)
	if err != nil {
		manager = decodeParts(data)
	}
	// The controller never reads these, and kubectl apply's copy of the spec is as large as the spec itself.
	manager.ManagedFields = nil
	delete(manager.Annotations, corev1.LastAppliedConfigAnnotation)
	delete(manager.Annotations, Undecodable) // only the controller may set it
	if err != nil {
		metav1.SetMetaDataAnnotation(&manager.ObjectMeta, Undecodable, bounds.Short(err.Error()))
	}
	return manager
}

// decodeParts decodes the metadata, which always fit, and the status if it fits.
func decodeParts(data []byte) *v1.PodManager {
	var parts struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta
		Status   json.RawMessage
	}
	_ = json.Unmarshal(data, &parts)
	manager := &v1.PodManager{TypeMeta: parts.TypeMeta, ObjectMeta: parts.Metadata}
	if bounds.Unmarshal(parts.Status, &manager.Status) != nil {
		manager.Status = v1.PodManagerStatus{}
	}
	return manager
}
