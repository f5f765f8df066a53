package source

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Relabelled lists the pods of PodManagers that have lost the label by which the informers select pods, and have kept the one with the UID.
// The API server selects them, so that the list is short in any cluster.
func (s Scope) Relabelled(ctx context.Context, client metadata.Interface) (*metav1.PartialObjectMetadataList, error) {
	return client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(s.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "!" + v1.LabelManager + "," + v1.LabelManagerUID,
	})
}
