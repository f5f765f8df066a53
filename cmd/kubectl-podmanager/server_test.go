package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
)

// serving starts an API server with one PodManager, which has one pod and these revisions, and whose user may do nothing but read. It returns a
// kubeconfig for it.
func serving(t *testing.T, manager *v1.PodManager, stored ...appsv1.ControllerRevision) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		w.Header().Set("Content-Type", "application/json")
		switch resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
		case strings.HasSuffix(r.URL.Path, "/podmanagers/web") && r.Method == http.MethodGet:
			answer = manager
		case resource == "nope":
			w.WriteHeader(http.StatusNotFound)
			missing := apierrors.NewNotFound(schema.GroupResource{Group: v1.GroupName, Resource: "podmanagers"}, "nope").Status()
			missing.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"} // otherwise client-go takes it for the answer of a proxy
			answer = missing
		case resource == "pods":
			answer = corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*plantest.Pod(0)}}
		case resource == "controllerrevisions":
			answer = appsv1.ControllerRevisionList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevisionList"}, Items: stored}
		case resource == "selfsubjectaccessreviews":
			answer = map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": map[string]any{"allowed": false}}
		case resource == "selfsubjectreviews":
			answer = map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
				"status": map[string]any{"userInfo": map[string]any{"username": "jane"}}}
		default:
			t.Errorf("unexpected request: %s %s", r.Method, r.URL.Path)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server)
}

// kubeconfigFor returns the name of a kubeconfig for a server.
func kubeconfigFor(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "namespace": "ns"}}],
		"clusters": [{"name": "a", "cluster": {"server": %q}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Every verb that writes refuses a PodManager that is being deleted, before it looks for a revision or writes anything. exec and port-forward name
// the role that helps before they run kubectl.
func TestRefusals(t *testing.T) {
	const deleted = "error: web is being deleted, so that a change would have no effect, and none was made; the finalizer example.com/x keeps it; "
	const right = "error: you may not create pods/%s in namespace ns; the role edit grants this right: kubectl create rolebinding jane-edit"
	deleting := func(m *v1.PodManager) { m.Finalizers = []string{"example.com/x"}; plantest.Deleting(m) }
	tests := map[string]struct {
		change func(*v1.PodManager)
		want   string
	}{
		"undo web":                    {deleting, deleted},
		"undo web --dry-run":          {deleting, deleted},
		"restart web":                 {deleting, deleted},
		"retry web":                   {deleting, deleted},
		"pause web":                   {deleting, deleted},
		"resume web":                  {deleting, deleted},
		"promote web":                 {deleting, deleted},
		"set image web app=nginx:2":   {deleting, deleted},
		"scale web --replicas 2":      {deleting, deleted},
		"exec web -- sh":              {func(*v1.PodManager) {}, fmt.Sprintf(right, "exec")},
		"port-forward web 8080:80":    {func(*v1.PodManager) {}, fmt.Sprintf(right, "portforward")},
		"undo web --to-revision none": {deleting, deleted},
	}
	for arguments, test := range tests {
		t.Run(arguments, func(t *testing.T) {
			manager := plantest.Manager(3, test.change)
			manager.TypeMeta = metav1.TypeMeta{APIVersion: v1.GroupVersionKind.GroupVersion().String(), Kind: v1.Kind}
			var out, errOut bytes.Buffer
			p := &plugin{in: strings.NewReader(""), out: &out, errOut: &errOut, getenv: func(string) string { return "" }, installedAs: "pm"}
			code := p.run(t.Context(), append([]string{"--kubeconfig", serving(t, manager)}, strings.Fields(arguments)...))
			if code != 1 || out.Len() > 0 || !strings.HasPrefix(errOut.String(), test.want) {
				t.Errorf("exit code %d\n%s%s\nwant 1 and %s", code, out.String(), errOut.String(), test.want)
			}
		})
	}
}

// retry names a revision that has failed before, which only the stored revisions show.
func TestRetryNamesTheFailedRevision(t *testing.T) {
	manager := plantest.Manager(3, func(m *v1.PodManager) { m.Status.ObservedGeneration = m.Generation })
	manager.TypeMeta = metav1.TypeMeta{APIVersion: v1.GroupVersionKind.GroupVersion().String(), Kind: v1.Kind}
	failed := plantest.Stored(plantest.Manager(3, plantest.Image("bad")), 2)
	metav1.SetMetaDataAnnotation(&failed.ObjectMeta, v1.AnnotationFailed, "true")
	for want, stored := range map[string][]appsv1.ControllerRevision{
		"error: no revision of web was rolled back, has halted or missed its deadline, so there is none to retry; ":                        {},
		"error: the present template of web has not failed, so there is nothing to retry; revision 2 has failed before: to try it again, ": {*failed},
	} {
		var out, errOut bytes.Buffer
		p := &plugin{in: strings.NewReader(""), out: &out, errOut: &errOut, getenv: func(string) string { return "" }, installedAs: "pm"}
		code := p.run(t.Context(), []string{"--kubeconfig", serving(t, manager, stored...), "retry", "web"})
		if code != 1 || !strings.HasPrefix(errOut.String(), want) {
			t.Errorf("exit code %d\n%s\nwant 1 and %s", code, errOut.String(), want)
		}
	}
}

// Like kubectl, a verb changes the PodManagers that exist, and reports the others.
func TestOneOfTwoNamesIsMissing(t *testing.T) {
	manager := plantest.Manager(3)
	manager.TypeMeta = metav1.TypeMeta{APIVersion: v1.GroupVersionKind.GroupVersion().String(), Kind: v1.Kind}
	for arguments, want := range map[string]string{
		"pause nope web --dry-run=client":              "web paused (scaling and healing go on) (dry run)\n",
		"scale nope web --replicas 5 --dry-run=client": "web scaled to 5, was 3 (dry run)\n",
		"get nope web -o name":                         "web\n",
	} {
		t.Run(arguments, func(t *testing.T) {
			var out, errOut bytes.Buffer
			p := &plugin{in: strings.NewReader(""), out: &out, errOut: &errOut, getenv: func(string) string { return "" }, installedAs: "pm"}
			code := p.run(t.Context(), append([]string{"--kubeconfig", serving(t, manager)}, strings.Fields(arguments)...))
			const missing = "error: there is no PodManager nope in namespace ns"
			if code != 1 || out.String() != "podmanager.apps.mycompany.com/"+want || !strings.HasPrefix(errOut.String(), missing) {
				t.Errorf("exit code %d\n%s%s\nwant 1, %sand %s", code, out.String(), errOut.String(), want, missing)
			}
		})
	}
}

// Every verb that needs a PodManager says that the CRD is missing, and not that there is no PodManager of this name.
func TestWithoutTheCRD(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler()) // the API server answers "404 page not found", too
	t.Cleanup(server.Close)
	kubeconfig := kubeconfigFor(t, server)
	for _, arguments := range []string{
		"get", "get web", "get web -w", "status web", "why web", "logs web", "history web", "diff web", "undo web", "restart web", "retry web", "pause web",
		"promote web", "set image web app=x", "scale web --replicas 2", "exec web -- sh", "port-forward web 80", "simulate web --replicas 2",
	} {
		t.Run(arguments, func(t *testing.T) {
			var out, errOut bytes.Buffer
			p := &plugin{in: strings.NewReader(""), out: &out, errOut: &errOut, getenv: func(string) string { return "" }, installedAs: "pm"}
			code := p.run(t.Context(), append([]string{"--kubeconfig", kubeconfig}, strings.Fields(arguments)...))
			want := "error: " + server.URL + " does not serve PodManagers: install the CRD with kubectl apply -f artifacts/crd.yaml"
			if code != 1 || out.Len() > 0 || !strings.HasPrefix(errOut.String(), want) {
				t.Errorf("exit code %d\n%s%s\nwant 1 and %s", code, out.String(), errOut.String(), want)
			}
		})
	}
}
