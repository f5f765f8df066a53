package certificates

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// watchObjects watches the Secret and the configurations: only these, by name, and only their metadata. This costs the API server less than
// polling, as the CRD alone has 200 KB, and an overwritten bundle is restored at once.
func watchObjects(client metadata.Interface, config Config) func(context.Context, func()) {
	return func(ctx context.Context, changed func()) {
		var running sync.WaitGroup
		for _, object := range []struct {
			resource        schema.GroupVersionResource
			namespace, name string
		}{
			{corev1.SchemeGroupVersion.WithResource("secrets"), config.Namespace, config.Secret},
			{validatingResource, metav1.NamespaceNone, config.Configuration},
			{crdResource, metav1.NamespaceNone, crdName},
		} {
			informer := watchObject(client.Resource(object.resource).Namespace(object.namespace), object.name, changed)
			running.Go(func() { informer.RunWithContext(ctx) })
		}
		running.Wait()
	}
}

// watchObject returns an informer that calls changed for each change of an object. It keeps watching if the object does not exist or is deleted.
func watchObject(client metadata.ResourceInterface, name string, changed func()) cache.Controller {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String() // needs permission for this name only
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ObjectType: &metav1.PartialObjectMetadata{},
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.FieldSelector = only
				return client.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.FieldSelector = only
				return client.Watch(ctx, options)
			},
		},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		},
	})
	return informer
}
