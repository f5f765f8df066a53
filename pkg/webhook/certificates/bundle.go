package certificates

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// fieldManager owns the CA bundles, and nothing else.
const fieldManager = "podmanager-webhook"

// crdName is the name of the CRD, which may use our conversion webhook.
const crdName = "podmanagers.apps.mycompany.com"

// The resources that hold a CA bundle.
var (
	validatingResource = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
	crdResource        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// holder is an object that holds the bundle, as it was read.
type holder struct {
	// held has the bundle of each of our webhooks in the object. It is empty if the object is not installed or does not use our webhooks.
	held [][]byte
	// put writes the bundle. It fails with a conflict if the object has changed since it was read.
	put func(ctx context.Context, bundle []byte) error
}

// configuration is an object that has to hold the bundle.
type configuration struct {
	name string
	read func(ctx context.Context) (*holder, error)
}

// own identifies our webhooks: those that use our Service, or a URL with one of our hosts.
type own struct {
	namespace, service string
	hosts              []string
}

func (o own) isOurs(namespace, service string, address *string) bool {
	if address == nil {
		return namespace == o.namespace && service == o.service
	}
	parsed, err := url.Parse(*address)
	return err == nil && slices.Contains(o.hosts, parsed.Hostname())
}

// validating returns the ValidatingWebhookConfiguration of this name.
func validating(client kubernetes.Interface, name string, own own) configuration {
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	read := func(ctx context.Context) (*holder, error) {
		found, err := configurations.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return &holder{}, nil
		}
		if err != nil {
			return nil, err
		}
		h := &holder{}
		var names []string
		for _, webhook := range found.Webhooks {
			config := webhook.ClientConfig
			service := config.Service
			if service == nil {
				service = &admissionregistrationv1.ServiceReference{}
			}
			if own.isOurs(service.Namespace, service.Name, config.URL) {
				names, h.held = append(names, webhook.Name), append(h.held, config.CABundle)
			}
		}
		h.put = func(ctx context.Context, bundle []byte) error {
			// The list is a map keyed by name: only the bundles of these entries are written.
			apply := admissionapply.ValidatingWebhookConfiguration(name).WithResourceVersion(found.ResourceVersion).WithUID(found.UID)
			for _, name := range names {
				apply.WithWebhooks(admissionapply.ValidatingWebhook().WithName(name).
					WithClientConfig(admissionapply.WebhookClientConfig().WithCABundle(bundle...)))
			}
			_, err := configurations.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
			return err
		}
		return h, nil
	}
	return configuration{"ValidatingWebhookConfiguration " + name, read}
}

// conversion has the fields of a CRD that configure its conversion webhook.
type conversion struct {
	Spec struct {
		Conversion *struct {
			Strategy string `json:"strategy"`
			Webhook  *struct {
				ClientConfig *struct {
					Service *struct {
						Namespace string `json:"namespace"`
						Name      string `json:"name"`
					} `json:"service"`
					URL      *string `json:"url"`
					CABundle []byte  `json:"caBundle"`
				} `json:"clientConfig"`
			} `json:"webhook"`
		} `json:"conversion"`
	} `json:"spec"`
}

// converting returns the CRD. If it has no conversion webhook, or one that is not ours, it needs no bundle.
func converting(client dynamic.Interface, own own) configuration {
	crds := client.Resource(crdResource)
	read := func(ctx context.Context) (*holder, error) {
		found, err := crds.Get(ctx, crdName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return &holder{}, nil
		}
		if err != nil {
			return nil, err
		}
		var crd conversion
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &crd); err != nil {
			return nil, err
		}
		c := crd.Spec.Conversion
		if c == nil || c.Strategy != "Webhook" || c.Webhook == nil || c.Webhook.ClientConfig == nil {
			return &holder{}, nil
		}
		config := c.Webhook.ClientConfig
		var namespace, service string
		if config.Service != nil {
			namespace, service = config.Service.Namespace, config.Service.Name
		}
		if !own.isOurs(namespace, service, config.URL) {
			return &holder{}, nil
		}
		return &holder{held: [][]byte{config.CABundle}, put: func(ctx context.Context, bundle []byte) error {
			_, err := crds.Apply(ctx, crdName, conversionApply(found, bundle), metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
			return err
		}}, nil
	}
	return configuration{"CustomResourceDefinition " + crdName, read}
}

// conversionApply returns the apply configuration for the CRD. It sets the bundle, provided that the CRD is still the one that was read.
func conversionApply(found *unstructured.Unstructured, bundle []byte) *unstructured.Unstructured {
	apply := &unstructured.Unstructured{Object: map[string]any{}}
	apply.SetAPIVersion(crdResource.GroupVersion().String())
	apply.SetKind("CustomResourceDefinition")
	apply.SetName(crdName)
	apply.SetResourceVersion(found.GetResourceVersion())
	apply.SetUID(found.GetUID())
	apply.Object["spec"] = map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{
		"caBundle": base64.StdEncoding.EncodeToString(bundle),
	}}}}
	return apply
}
