package source

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
)

// A live read does not return a PodManager that the selector does not match.
func TestLiveReadsKeepToTheSelector(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"team": "a"})
	for team, isOurs := range map[string]bool{"a": true, "b": false} {
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Labels: map[string]string{"team": team}}}
		scopes := ByNamespace{metav1.NamespaceAll: {selector: mine}}
		if _, err := scopes.Live(context.Background(), fake.NewSimpleClientset(manager).AppsV1(), cache.MetaObjectToName(manager)); (err == nil) != isOurs || (!isOurs && !apierrors.IsNotFound(err)) {
			t.Errorf("a live read of a PodManager of team %s returns the error %v", team, err)
		}
	}
}
