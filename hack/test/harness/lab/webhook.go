package lab

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/webhook/validation"
)

// Webhook is the validation of PodManagers in some namespaces, served by this process on 127.0.0.1.
type Webhook struct {
	// Calls is how often the API server has called the webhook. Trials is how many dry runs of creating a pod the webhook has requested.
	Calls, Trials atomic.Int64

	cluster *Cluster
	name    string
	server  *httptest.Server
	breaker breaker
}

// Validate serves the validation with the permissions of a kubeconfig, and makes the API server call it for the PodManagers of some namespaces. The
// namespaces must exist: the first of them is used to find out whether the API server calls the webhook.
func (c *Cluster) Validate(ctx context.Context, name, kubeconfig string, namespaces ...string) (*Webhook, error) {
	w := &Webhook{cluster: c, name: name}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf // like the controller
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &w.Trials} })
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	handler := w.breaker.before(validation.New(kube, validation.Within([]string{metav1.NamespaceAll}, labels.Everything()), inplace.Capabilities{CanResizeAndDrain: true}))
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.Calls.Add(1)
		handler.ServeHTTP(rw, r)
	}))
	if err := w.breaker.install(w.server); err != nil {
		return nil, err
	}
	w.server.StartTLS()
	configuration := w.configuration(namespaces)
	if _, err = c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{}); err == nil {
		err = w.await(ctx, namespaces[0])
	}
	if err != nil {
		return nil, errors.Join(err, w.Remove())
	}
	return w, nil
}

func (w *Webhook) configuration(namespaces []string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.podmanager.mycompany.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      ptr.To(w.server.URL + "/validate"),
				CABundle: w.breaker.bundle(w.server),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{v1.GroupName}, APIVersions: []string{v1.GroupVersion.Version},
					Resources: []string{"podmanagers"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces,
			}}},
			FailurePolicy: ptr.To(admissionregistrationv1.Ignore), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds: ptr.To[int32](5), AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// await waits until the API server uses the configuration.
func (w *Webhook) await(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{GenerateName: "await-"}, Spec: v1.PodManagerSpec{Image: "a"}}
	for w.Calls.Load() == 0 {
		_, err := w.cluster.Managers.AppsV1().PodManagers(namespace).Create(ctx, manager, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if !Pause(ctx, 50*time.Millisecond) {
			return errors.New("the API server does not call the webhook")
		}
	}
	return nil
}

// Break sets a fault of the server, or none. It closes open connections, so that the next call is affected.
func (w *Webhook) Break(fault WebhookFault) {
	w.breaker.set(fault)
	w.server.CloseClientConnections()
}

// Stop stops the server, but leaves the configuration.
func (w *Webhook) Stop() { w.server.Close() }

// Remove stops the server, and deletes the configuration.
func (w *Webhook) Remove() error {
	w.server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := w.cluster.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, w.name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// counted counts requests.
type counted struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.next.RoundTrip(r)
}
