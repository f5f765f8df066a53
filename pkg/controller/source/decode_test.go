package source

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	managersv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
)

// object returns a PodManager as the API server sends it.
func object(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":%q,"namespace":"ns","uid":"uid","resourceVersion":"5",`+
		`"finalizers":[%q],"annotations":{%q:"says the user",%q:"{}","team":"a"},"managedFields":[{"manager":"kubectl"}]},"spec":%s,"status":{"replicas":2}}`, name, v1.Finalizer, Undecodable, corev1.LastAppliedConfigAnnotation, spec)
}

// answering returns a client of an API server that always gives this answer.
func answering(t *testing.T, code int, answer string) managersv1.PodManagerInterface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	client, err := NewManagerClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client.PodManagers("ns")
}

func TestDecodeList(t *testing.T) {
	items := strings.Join([]string{
		object("good", `{"replicas":3,"image":"nginx"}`), object("bad", `{"replicas":"three","image":"nginx"}`), object("fine", `{"replicas":1,"image":"nginx"}`),
		object("large", `{"replicas":4444444444}`),
	}, ",")
	list, err := answering(t, http.StatusOK, `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManagerList","metadata":{"resourceVersion":"9","continue":"more"},"items":[`+items+`]}`).
		List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if list.ResourceVersion != "9" || list.Continue != "more" || len(list.Items) != 4 {
		t.Fatalf("the list has %d items and the metadata %+v", len(list.Items), list.ListMeta)
	}
	good, bad, fine, large := list.Items[0], list.Items[1], list.Items[2], list.Items[3]
	if good.DesiredReplicas() != 3 || fine.DesiredReplicas() != 1 || len(good.Annotations) != 1 || good.Annotations["team"] != "a" || len(good.ManagedFields) > 0 {
		t.Errorf("the PodManagers that fit are decoded as %+v, %+v", good, fine)
	}
	checkUndecodable(t, &bad)
	checkUndecodable(t, &large)
}

// checkUndecodable checks that a PodManager whose replicas do not fit has its identity and status, and says what is wrong.
func checkUndecodable(t *testing.T, broken *v1.PodManager) {
	t.Helper()
	if broken.Name == "" || broken.UID != "uid" || broken.Finalizers[0] != v1.Finalizer || broken.ResourceVersion != "5" || broken.Status.Replicas != 2 || broken.Spec.Replicas != nil {
		t.Errorf("the PodManager that does not fit is decoded as %+v", broken)
	}
	if why := broken.Annotations[Undecodable]; !strings.Contains(why, "spec.replicas") {
		t.Errorf("%s is annotated with %q, want the field spec.replicas", broken.Name, why)
	}
}

// A live read and the response to a write return the object.
func TestDecodeOne(t *testing.T) {
	for spec, why := range map[string]string{`{"replicas":3,"image":"nginx"}`: "", `{"replicas":"three"}`: "spec.replicas", `{"template":{"spec":{"overhead":{"cpu":"1e-1000"}}}}`: "exponent"} {
		client := answering(t, http.StatusOK, object("web", spec))
		read, err := client.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || read.Name != "web" || read.ResourceVersion != "5" || !strings.Contains(read.Annotations[Undecodable], why) || (why == "") != (read.DesiredReplicas() == 3 && read.Spec.Image == "nginx") {
			t.Errorf("%s is read as %+v: %v", spec, read, err)
		}
		if written, err := client.UpdateStatus(t.Context(), read, metav1.UpdateOptions{}); err != nil || written.ResourceVersion != "5" || written.Status.Replicas != 2 {
			t.Errorf("%s is written as %+v: %v", spec, written, err)
		}
	}
}

func TestDecodeEvents(t *testing.T) {
	events := `{"type":"ADDED","object":` + object("web", `{"image":"nginx"}`) + `}
{"type":"MODIFIED","object":` + object("bad", `{"image":7}`) + `}
{"type":"BOOKMARK","object":{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}
{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}
`
	w, err := answering(t, http.StatusOK, events).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var got []watch.Event
	for event := range w.ResultChan() {
		got = append(got, event)
	}
	if len(got) != 4 {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	if web := got[0].Object.(*v1.PodManager); got[0].Type != watch.Added || web.Name != "web" || web.Annotations[Undecodable] != "" {
		t.Errorf("event %+v", got[0])
	}
	if bad := got[1].Object.(*v1.PodManager); got[1].Type != watch.Modified || bad.Name != "bad" || !strings.Contains(bad.Annotations[Undecodable], "spec.image") {
		t.Errorf("event %+v", got[1])
	}
	if bookmark := got[2].Object.(*v1.PodManager); got[2].Type != watch.Bookmark || bookmark.ResourceVersion != "8" || bookmark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("event %+v", got[2])
	}
	if err := apierrors.FromObject(got[3].Object); got[3].Type != watch.Error || !apierrors.IsResourceExpired(err) {
		t.Errorf("event %+v", got[3])
	}
}

// An error of the API server is passed on.
func TestDecodeRefusal(t *testing.T) {
	client := answering(t, http.StatusForbidden, `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"not you","reason":"Forbidden","code":403}`)
	if _, err := client.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not you") {
		t.Errorf("got %v", err)
	}
}
