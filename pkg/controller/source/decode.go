package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Undecodable marks, in the cache only, a PodManager that could not be decoded; the value is why.
const Undecodable = "apps.mycompany.com/undecodable"

var managerResource = v1.GroupVersionKind.GroupVersion().WithResource("podmanagers")

// tolerantListWatch lists and watches PodManagers, and decodes each object by itself. A typed list fails as a whole if a single object
// does not fit the Go type, as may happen with an edited CRD or a CRD of another version: no PodManager would be synced any more.
func tolerantListWatch(client dynamic.Interface, namespace, selector string) *cache.ListWatch {
	resource := client.Resource(managerResource).Namespace(namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			list, err := resource.List(ctx, options)
			if err != nil {
				return nil, err
			}
			return decodeList(list), nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			watcher, err := resource.Watch(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(watcher, decodeEvent), nil
		},
	}
}

func decodeList(list *unstructured.UnstructuredList) *v1.PodManagerList {
	decoded := &v1.PodManagerList{ListMeta: metav1.ListMeta{
		ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount(),
	}}
	for i := range list.Items {
		decoded.Items = append(decoded.Items, *decode(&list.Items[i]))
	}
	return decoded
}

// decodeEvent decodes the PodManager of an event. Other objects, such as errors of the API server, stay as they are.
func decodeEvent(event watch.Event) (watch.Event, bool) {
	if object, ok := event.Object.(*unstructured.Unstructured); ok && object.GetKind() == v1.Kind {
		event.Object = decode(object)
	}
	return event, true
}

// decode always returns a PodManager. If the object does not fit the Go type, that has the metadata, the status if it fits, and the
// Undecodable annotation.
func decode(object *unstructured.Unstructured) *v1.PodManager {
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields") // the controller never reads them
	manager := &v1.PodManager{}
	err := convert(object.Object, manager)
	if err == nil {
		delete(manager.Annotations, Undecodable) // only the controller may set it
		return manager
	}
	// The metadata always fits. Keep the status if it fits.
	manager = &v1.PodManager{}
	parts := map[string]any{"metadata": object.Object["metadata"], "status": object.Object["status"]}
	if convert(parts, manager) != nil {
		manager = &v1.PodManager{}
		delete(parts, "status")
		_ = convert(parts, manager)
	}
	// The converter does not name the field that does not fit. The JSON decoder does.
	if data, jsonErr := object.MarshalJSON(); jsonErr == nil {
		err = cmp.Or(json.Unmarshal(data, &v1.PodManager{}), err)
	}
	metav1.SetMetaDataAnnotation(&manager.ObjectMeta, Undecodable, fmt.Sprint(err))
	return manager
}

// convert makes a PodManager of parsed JSON. The converter, which is fast, cuts off numbers that are too large for the Go type; the JSON
// decoder refuses them.
func convert(object map[string]any, manager *v1.PodManager) error {
	if !exceedsInt32(object) {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(object, manager)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(data, manager)
}

// exceedsInt32 tells whether there is a number that is too large for the smallest type of number in a PodManager.
func exceedsInt32(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, part := range value {
			if exceedsInt32(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, exceedsInt32)
	case int64:
		return value < math.MinInt32 || value > math.MaxInt32
	case float64:
		return value < math.MinInt32 || value > math.MaxInt32
	}
	return false
}
