package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/webhook"
	"github.com/mycompany/podmanager/pkg/webhook/certificates"
)

// idleController has nothing to drain.
type idleController struct{}

func (idleController) Shutdown() {}

func (idleController) Run(ctx context.Context, _ int) error {
	<-ctx.Done()
	return nil
}

// Webhooks are served for a while after the signal, because API servers may still call them. Clients are asked to connect elsewhere.
func TestWebhooksLinger(t *testing.T) {
	for name, isAlone := range map[string]bool{"with webhooks": false, "webhooks alone": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := testContext(t)
				p, _, scopes := testProcess(ctx, t, nil)
				p.role.(*controllerRole).newController = func(context.Context, []source.Scope) (reconciler, error) { return idleController{}, nil }
				if isAlone {
					p.role = webhookRole{}
				}
				handler := webhook.NewHandler(nil)
				isOn := name != "without"
				if isOn {
					p.servers.webhooks = &webhooks{handler: handler}
				}
				scopes.serve()
				var ended atomic.Pointer[time.Time]
				go func() {
					if err := p.Run(ctx); err != nil {
						t.Errorf("ended with %v", err)
					}
					ended.Store(new(time.Now()))
				}()
				pass(time.Minute)
				asksToGo := func() bool {
					answer := httptest.NewRecorder()
					handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", nil))
					return answer.Header().Get("Connection") == "close"
				}
				if asksToGo() {
					t.Error("the server asks clients to disconnect before the signal")
				}
				stop()
				signalled := time.Now()
				pass(time.Second)
				if asksToGo() != isOn || (ended.Load() == nil) != isOn {
					t.Errorf("a second after the signal, the server asks clients to disconnect: %v; process ended at %v", asksToGo(), ended.Load())
				}
				pass(time.Minute)
				if took := ended.Load().Sub(signalled); isOn && took != webhookLinger || !isOn && took != 0 {
					t.Errorf("the process ended %v after the signal", took)
				}
			})
		})
	}
}

// A replica without a certificate is not ready, but alive.
func TestReadyNeedsCertificate(t *testing.T) {
	unused, err := dynamic.NewForConfig(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	manager := certificates.New(certificates.Clients{Kube: kubefake.NewClientset(), Dynamic: unused}, NewOptions().Config().Webhook.Certificates)
	servers := &servers{webhooks: &webhooks{handler: webhook.NewHandler(nil), certificates: manager}}
	served := &controllerRole{caches: cachesOf(&fakeScopes{states: []source.ScopeState{{Phase: source.ScopeServed}}}), contact: &clients.Contact{}}
	for _, role := range []role{served, webhookRole{}} {
		for path, want := range map[string]int{"/readyz": 500, "/livez": 200} {
			answer := httptest.NewRecorder()
			servers.healthHandler(role).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			if answer.Code != want {
				t.Errorf("%T: %s answers %d, want %d: %s", role, path, answer.Code, want, answer.Body)
			}
			if want == 500 && !strings.Contains(answer.Body.String(), "[-]webhookCertificate failed: no certificate yet") {
				t.Errorf("%T: %s answers %s", role, path, answer.Body)
			}
		}
	}
}

// review is an admission review of a PodManager.
const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"ns",` +
	`"kind":{"group":"apps.mycompany.com","version":"v1","kind":"PodManager"},"object":{"metadata":{"name":"web"},"spec":{"image":"nginx",` +
	`"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceGracePeriodSeconds":1}}}}}}`

// The pod that the webhook tries depends on what the controller may do to pods.
func TestTrialHasTheControllersMeans(t *testing.T) {
	var tried corev1.Pod
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&tried); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for drains, want := range map[bool]int{true: 1, false: 0} {
		options := NewOptions()
		options.ResizeAndDrain = drains
		routes, err := webhookRoutes(options.Config(), &clients.Clients{Trials: kube})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		tried = corev1.Pod{}
		routes["/validate"].ServeHTTP(httptest.NewRecorder(), request)
		if tried.Name == "" || len(tried.Spec.ReadinessGates) != want {
			t.Errorf("-resize-and-drain=%t: tried %q with the readiness gates %v, want %d", drains, tried.Name, tried.Spec.ReadinessGates, want)
		}
	}
}

// With client CAs, only clients with a verified certificate may try PodManagers. Any client may request a conversion, for which API servers
// have no certificate.
func TestOnlyVerifiedClientsHaveTrials(t *testing.T) {
	for file, want := range map[string]int{"": http.StatusBadRequest, "/ca.crt": http.StatusForbidden} {
		options := NewOptions()
		options.WebhookClients = file
		routes, err := webhookRoutes(options.Config(), &clients.Clients{})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/validate": want, "/convert": http.StatusBadRequest} {
			answer := httptest.NewRecorder()
			routes[path].ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, strings.NewReader("nonsense")))
			if answer.Code != want {
				t.Errorf("with CAs in %q, %s answers %d, want %d", file, path, answer.Code, want)
			}
		}
	}
}
