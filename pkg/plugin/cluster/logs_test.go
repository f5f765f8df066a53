package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The logs of all pods come with names in front. A container without a log is named in the error, and the others are shown.
func TestCopyLogs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces/ns/pods/web-0/log":
			fmt.Fprintf(w, "started %s %s\n%s\nlast, without an end", r.FormValue("container"), r.FormValue("tailLines"), strings.Repeat("x", 2*maxLogLine))
		case "/api/v1/namespaces/secret/pods/web-0/log", "/api/v1/namespaces/secret/pods/web-1/log":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods \"web\" is forbidden: `+
				`User \"eve\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"secret\""}`)
		default:
			http.Error(w, "waiting to start", http.StatusBadRequest)
		}
	}))
	defer server.Close()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "proxy"}},
			InitContainers: []corev1.Container{{Name: "migrate"}}}}
	}
	streams := LogStreams([]*corev1.Pod{pod("web-0"), pod("web-1")}, "app")
	if len(streams) != 2 || len(LogStreams([]*corev1.Pod{pod("web-0")}, "")) != 2 {
		t.Fatalf("streams %v", streams)
	}
	if init := LogStreams([]*corev1.Pod{pod("web-0")}, "migrate"); len(init) != 1 || init[0].Container != "migrate" {
		t.Errorf("an init container by name gives the streams %v", init)
	}
	var out strings.Builder
	tail := int64(5)
	err = (&Cluster{Kube: kube, Namespace: "ns"}).CopyLogs(t.Context(), streams, corev1.PodLogOptions{TailLines: &tail}, &out)
	if err == nil || !strings.Contains(err.Error(), "web-1/app: ") || strings.Contains(err.Error(), "web-0") {
		t.Errorf("the error is %v", err)
	}
	err = (&Cluster{Kube: kube, Namespace: "secret"}).CopyLogs(t.Context(), streams, corev1.PodLogOptions{}, &out)
	if err == nil || strings.Count(err.Error(), "cannot get") != 1 || !strings.Contains(err.Error(), "the role view grants this right") {
		t.Errorf("without the right, the error is %v", err)
	}
	want := "[web-0/app] started app 5\n[web-0/app] " + strings.Repeat("x", maxLogLine) + "\n[web-0/app] last, without an end\n"
	if out.String() != want {
		t.Errorf("got %d bytes, want %d: %.100s", out.Len(), len(want), out.String())
	}
}
