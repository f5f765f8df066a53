package sim

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A namespace is deleted in the middle of a scale-up. From then on the API server refuses every create, and pods disappear that the controller would
// otherwise replace. The controller soon stops trying, does not mind that the namespace goes, and works in it once it is there again.
func TestNamespaceIsDeleted(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 60, nil)
		c.apply(t, "team-a", "db", 3, nil)
		pause(c.ctx, 150*time.Millisecond)
		if err := c.kube.CoreV1().Namespaces().Delete(c.ctx, "team-a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pause(c.ctx, 10*time.Second)
		for _, name := range []string{"podmanagers", "controllerrevisions", "pods"} {
			c.deleteAll(t, name)
			pause(c.ctx, 5*time.Second)
		}
		pause(c.ctx, time.Minute)
		if refused := c.refusedCreates(); refused == 0 || refused > 20 {
			t.Errorf("%d creates were refused", refused)
		}
		namespace, err := c.kube.CoreV1().Namespaces().Get(c.ctx, "team-a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		namespace.Spec.Finalizers = nil
		if _, err := c.kube.CoreV1().Namespaces().Finalize(c.ctx, namespace, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"podmanagers", "controllerrevisions", "pods"} {
			list, err := c.graph.Resource(resourceOf[name]).Namespace("team-a").List(c.ctx, metav1.ListOptions{})
			if err != nil || len(list.Items) > 0 {
				t.Errorf("%d %s are left: %v", len(list.Items), name, err)
			}
		}
		if err := c.server.CreateNamespace("team-a"); err != nil {
			t.Fatal(err)
		}
		c.apply(t, "team-a", "web", 2, nil)
		c.await(t, "team-a", "web", isReady)
		if c.judge.isBroken() {
			t.Error(strings.Join(c.judge.violations, "\n"))
		}
	})
}

var resourceOf = map[string]schema.GroupVersionResource{
	"podmanagers": podManagers, "controllerrevisions": {Group: "apps", Version: "v1", Resource: "controllerrevisions"}, "pods": {Version: "v1", Resource: "pods"},
}

// deleteAll deletes all objects of a resource in team-a, as the namespace controller does.
func (c *Cluster) deleteAll(t *testing.T, name string) {
	t.Helper()
	err := c.graph.Resource(resourceOf[name]).Namespace("team-a").DeleteCollection(c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// refusedCreates returns how many creates were forbidden so far.
func (c *Cluster) refusedCreates() (count int) {
	c.story.mu.Lock()
	defer c.story.mu.Unlock()
	for _, e := range c.story.entries {
		if e.request != nil && e.request.Verb == "create" && e.status == http.StatusForbidden && e.request.Resource.Name != "events" {
			count++
		}
	}
	return count
}
