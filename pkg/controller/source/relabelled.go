package source

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// relabelledPageSize is how many pods without our label are listed at a time.
const relabelledPageSize = 250

// relabelled finds pods that another client has relabelled: a PodManager controls them, but the informers do not show them. To find them, it
// has to list the metadata of all pods without our label. Shards that start at the same time share one list.
type relabelled struct {
	busy  chan struct{} // full during a list; not a mutex, so that a caller can give up
	began time.Time
	found []*metav1.PartialObjectMetadata
}

func newRelabelled() *relabelled { return &relabelled{busy: make(chan struct{}, 1)} }

// Relabelled returns the pods of the scope that a PodManager controls but that do not have our label.
func (s Scope) Relabelled(ctx context.Context, client metadata.Interface) ([]*metav1.PartialObjectMetadata, error) {
	return s.relabelled.find(ctx, client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(s.Namespace))
}

func (r *relabelled) find(ctx context.Context, pods metadata.ResourceInterface) ([]*metav1.PartialObjectMetadata, error) {
	asked := time.Now()
	select {
	case r.busy <- struct{}{}:
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.began.After(asked) { // another caller has made a list while this one waited
		return r.found, nil
	}
	began := time.Now()
	found, err := listRelabelled(ctx, pods)
	if err == nil {
		r.began, r.found = began, found
	}
	return found, err
}

func listRelabelled(ctx context.Context, pods metadata.ResourceInterface) ([]*metav1.PartialObjectMetadata, error) {
	var found []*metav1.PartialObjectMetadata
	options := metav1.ListOptions{LabelSelector: "!" + v1.LabelManager, Limit: relabelledPageSize}
	for {
		list, err := pods.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if ControllerOf(&list.Items[i]) != nil {
				found = append(found, &list.Items[i])
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return found, nil
		}
	}
}
