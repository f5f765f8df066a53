//go:build e2e

package plugin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// middle is a proxy between the plugin and the API server. It records requests, and can change responses.
type middle struct {
	// change, if not nil, returns another response for a path.
	change func(path string, body []byte) []byte

	mu       sync.Mutex
	requests []string
}

// withMiddle returns the space with such a proxy in between. The proxy has the administrator's credentials.
func (s *space) withMiddle(change func(path string, body []byte) []byte) (*space, *middle) {
	s.T.Helper()
	m := &middle{change: change}
	transport, err := rest.TransportFor(shared.cluster.Config)
	if err != nil {
		s.T.Fatal(err)
	}
	target, err := url.Parse(shared.cluster.Config.Host)
	if err != nil {
		s.T.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.requests = append(m.requests, r.In.Method+" "+r.In.URL.Path)
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // so that the response can be read
		},
		ModifyResponse: m.answered,
	})
	s.T.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["middle"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["middle"] = &clientcmdapi.Context{Cluster: "middle"}
	config.CurrentContext = "middle"
	other := &space{Space: s.Space, kubeconfig: filepath.Join(s.T.TempDir(), "kubeconfig")}
	if err := clientcmd.WriteToFile(*config, other.kubeconfig); err != nil {
		s.T.Fatal(err)
	}
	return other, m
}

func (m *middle) answered(response *http.Response) error {
	if m.change == nil {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if body = m.change(response.Request.URL.Path, body); body == nil {
		response.StatusCode, body = http.StatusNotFound, []byte("404 page not found\n")
		response.Header.Set("Content-Type", "text/plain")
	}
	response.Body = io.NopCloser(strings.NewReader(string(body)))
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// take returns the requests since the last call.
func (m *middle) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.requests
	m.requests = nil
	return taken
}

// A list of all PodManagers is one request, however many there are, and verbs do not use discovery unless they need it.
func TestRequests(t *testing.T) {
	s := newSpace(t)
	const many, lanes = 200, 8
	var wait sync.WaitGroup
	failures := make([]error, lanes)
	for lane := range lanes {
		wait.Go(func() {
			for i := lane; i < many && failures[lane] == nil; i += lanes {
				_, failures[lane] = shared.cluster.Managers.AppsV1().PodManagers(s.Name).Create(t.Context(), &v1.PodManager{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"many": "yes"}},
					Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](0), Image: "app:1"},
				}, metav1.CreateOptions{})
			}
		})
	}
	wait.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	other, m := s.withMiddle(nil)
	if out := other.pm("get", "-A"); strings.Count(out, s.Name+" ") != many {
		t.Errorf("not all are listed:\n%s", out)
	}
	if got := m.take(); !slices.Equal(got, []string{"GET /apis/apps.mycompany.com/v1/podmanagers"}) {
		t.Errorf("get -A: %v", got)
	}
	other.pm("get", "web-0")
	if got := m.take(); len(got) != 3 { // the PodManager, its pods, its revisions
		t.Errorf("get: %v", got)
	}
	other.pm("pause", "-l", "many=yes", "--dry-run")
	if got := m.take(); len(got) != 1 {
		t.Errorf("pause --dry-run: %v", got)
	}
	other.pm("version")
	if got := m.take(); len(got) != 0 {
		t.Errorf("version: %v", got)
	}
}
