package lab

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/pkg/webhook/conversion"
)

const (
	crdName = "podmanagers.apps.mycompany.com"
	// alphaFile makes the API server serve v1alpha1, too.
	alphaFile = "artifacts/webhook/crd-patch.yaml"
)

// Conversion is the version v1alpha1 of the CRD. This process serves its conversion webhook on 127.0.0.1.
type Conversion struct {
	cluster *Cluster
	server  *httptest.Server
	breaker breaker
}

// Convert makes the API server serve v1alpha1 in addition to v1, and waits until it does. It affects the whole cluster.
func (c *Cluster) Convert(ctx context.Context) (*Conversion, error) {
	v := &Conversion{cluster: c}
	v.server = httptest.NewUnstartedServer(v.breaker.before(conversion.Handler()))
	if err := v.breaker.install(v.server); err != nil {
		return nil, err
	}
	v.server.StartTLS()
	patch, err := AlphaPatch(map[string]any{"url": v.server.URL + conversion.Path, "caBundle": v.breaker.bundle(v.server)})
	if err == nil {
		_, err = c.Kubectl(ctx, "patch", "crd", crdName, "--type", "json", "-p", patch)
	}
	if err == nil {
		err = v.await(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, v.Remove())
	}
	return v, nil
}

func (v *Conversion) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		_, err := v.cluster.Managers.AppsV1alpha1().PodManagers(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err == nil {
			return nil
		}
		if !Pause(ctx, 100*time.Millisecond) {
			return errors.Join(errors.New("v1alpha1 is not served"), err)
		}
	}
}

// Try reads each PodManager of a namespace in v1alpha1. A list is not enough, because the API server caches converted objects.
func (v *Conversion) Try(ctx context.Context, namespace string) error {
	stored, err := v.cluster.Managers.AppsV1().PodManagers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, manager := range stored.Items {
		_, err := v.cluster.Managers.AppsV1alpha1().PodManagers(namespace).Get(ctx, manager.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// Break sets a fault of the server, or none. It closes open connections, so that the next call is affected.
func (v *Conversion) Break(fault WebhookFault) {
	v.breaker.set(fault)
	v.server.CloseClientConnections()
}

// Remove stops the server, and makes the API server serve only v1.
func (v *Conversion) Remove() error {
	v.Break(WebhookSound) // Close waits for calls that hang
	v.server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// An apply would not remove what a patch has added.
	if _, err := v.cluster.Kubectl(ctx, "replace", "-f", "artifacts/crd.yaml"); err != nil {
		return err
	}
	return v.cluster.InstallCRD(ctx)
}

// AlphaPatch returns the JSON patch of artifacts/webhook that makes the CRD serve v1alpha1, too, with the given clientConfig instead of a Service.
func AlphaPatch(clientConfig map[string]any) (string, error) {
	data, err := os.ReadFile(alphaFile)
	if err != nil {
		return "", err
	}
	var steps []struct {
		Op    string         `json:"op"`
		Path  string         `json:"path"`
		Value map[string]any `json:"value"`
	}
	if err := yaml.UnmarshalStrict(data, &steps); err != nil {
		return "", err
	}
	for _, step := range steps {
		if webhook, isConversion := step.Value["webhook"].(map[string]any); isConversion {
			webhook["clientConfig"] = clientConfig
		}
	}
	patch, err := json.Marshal(steps)
	return string(patch), err
}
