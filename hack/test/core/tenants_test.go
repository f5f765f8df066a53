//go:build e2e

package core

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// delayPods makes every creation of a pod in the namespace take 30 s: the API server calls a webhook that never answers.
func (s *space) delayPods() {
	s.T.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a closed connection is only noticed after the body was read
		<-r.Context().Done()
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	s.T.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	configurations := shared.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(s.Ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "slow.mycompany.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Name}},
			FailurePolicy:     ptr.To(admissionregistrationv1.Ignore), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds: ptr.To[int32](30), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		if err := configurations.Delete(context.Background(), s.Name, metav1.DeleteOptions{}); err != nil {
			s.T.Log(err)
		}
	})
	s.Await("the API server to call the webhook", func() (any, bool) {
		ctx, cancel := context.WithTimeout(s.Ctx, 4*time.Second) // without the webhook, the answer comes much sooner
		defer cancel()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
		_, err := shared.kube.CoreV1().Pods(s.Name).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err, ctx.Err() != nil
	})
}

// createMany creates small PodManagers that only the test's own controller serves.
func (s *space) createMany(count int) {
	s.T.Helper()
	for i := range count {
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{privateLabel: ""}},
			Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](1), Image: "nginx"}}
		if _, err := shared.managers.AppsV1().PodManagers(s.Name).Create(s.Ctx, manager, metav1.CreateOptions{}); err != nil {
			s.T.Fatal(err)
		}
	}
}

// readyOf returns the number of PodManagers that are Ready.
func (s *space) readyOf() (ready int) {
	s.T.Helper()
	list, err := shared.managers.AppsV1().PodManagers(s.Name).List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	for i := range list.Items {
		if harness.IsReady(&list.Items[i]) {
			ready++
		}
	}
	return ready
}

// One namespace has a webhook that takes 30 s for every pod, and 60 PodManagers that wait for it. The PodManagers of another namespace, which were
// created last, are Ready long before.
func TestSlowWebhookOfAnotherTenant(t *testing.T) {
	slow := newSpace(t)
	other := newSerialSpace(t)
	slow.delayPods()
	const many, few = 60, 10
	slow.createMany(many)
	controller, err := startController(slow.Name, "-selector", privateLabel, "-namespace", slow.Name, "-namespace", other.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = controller.Kill() })
	other.createMany(few)
	other.Await("the PodManagers beside the slow ones to be Ready", func() (any, bool) { n := other.readyOf(); return n, n == few })
	if done := slow.readyOf(); done > many/3 {
		t.Errorf("the %d PodManagers of another namespace were Ready after %d of %d that wait for a slow webhook", few, done, many)
	} else {
		t.Logf("%d of %d that wait for a slow webhook were Ready before", done, many)
	}
}

// A leader that is stopped releases its Lease at once, when events about its actions may still be in flight. Its process ends only when these events
// have arrived.
func TestEventsOfAHandover(t *testing.T) {
	const count = 8
	f := newFaulty(t, "-leader-elect", "-leader-elect-resource-namespace", systemSpace)
	events := f.proxy.Inject(faults.Rule{Name: "events are slow", Rate: 1, Match: f.own("create", "events"), Faults: []faults.Fault{{Delay: 300 * time.Millisecond}}})
	defer events()
	f.createMany(count)
	f.Await("all pods", func() (any, bool) { n := len(f.AllPods()); return n, n == count })
	if err := f.controller.StopCleanly(); err != nil {
		t.Error(err)
	}
	list, err := shared.kube.EventsV1().Events(f.Name).List(f.Ctx, metav1.ListOptions{FieldSelector: "reason=" + v1.EventCreated})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != count {
		t.Errorf("%d of %d events have arrived when the leader has ended", len(list.Items), count)
	}
}
