package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
)

// However many requests of a sync fail, its error is the first one and a count.
func TestOneErrorOfMany(t *testing.T) {
	first := errors.New("creating pod web-0: no answer")
	done := &outcome{}
	done.fails(first)
	if err := done.failed(nil); err == nil || err.Error() != first.Error() {
		t.Errorf("one error is %v", err)
	}
	for i := range 97 {
		done.fails(fmt.Errorf("creating pod web-%d: no answer", i+1))
	}
	if err := done.failed(nil); !errors.Is(err, first) || err.Error() != "creating pod web-0: no answer (and 97 more)" {
		t.Errorf("98 errors are %v", err)
	}
}

// A PodManager that the selector leaves out is not ours, also when it is read from the API server.
func TestLiveReadsKeepToTheSelector(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"team": "a"})
	for team, isOurs := range map[string]bool{"a": true, "b": false} {
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Labels: map[string]string{"team": team}}}
		scopes := ByNamespace{metav1.NamespaceAll: {selector: mine}}
		if _, err := scopes.live(context.Background(), fake.NewSimpleClientset(manager), cache.MetaObjectToName(manager)); (err == nil) != isOurs || (!isOurs && !apierrors.IsNotFound(err)) {
			t.Errorf("team %s: %v", team, err)
		}
	}
}
