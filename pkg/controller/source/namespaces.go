package source

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	managersv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
)

// ByNamespace has the scope of each namespace.
type ByNamespace map[string]Scope

// NewByNamespace groups scopes by namespace.
func NewByNamespace(scopes []Scope) ByNamespace {
	byNamespace := make(ByNamespace, len(scopes))
	for _, scope := range scopes {
		byNamespace[scope.Namespace] = scope
	}
	return byNamespace
}

// Of returns the scope that a namespace belongs to.
func (b ByNamespace) Of(namespace string) Scope {
	if scope, found := b[namespace]; found {
		return scope
	}
	return b[metav1.NamespaceAll]
}

// Live does a live read of a PodManager. A PodManager that the selector does not match counts as gone.
func (b ByNamespace) Live(ctx context.Context, client managersv1.AppsV1Interface, key cache.ObjectName) (*v1.PodManager, error) {
	manager, err := client.PodManagers(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if selector := b.Of(key.Namespace).selector; err == nil && selector != nil && !selector.Matches(labels.Set(manager.Labels)) {
		return nil, apierrors.NewNotFound(v1.Resource("podmanagers"), key.Name)
	}
	return manager, err
}
