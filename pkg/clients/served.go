package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	podmanagerv1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// discoveryTimeout limits discovery requests, so that a user does not wait long for an error if the API server does not answer.
const discoveryTimeout = 10 * time.Second

// servedGrace is how long the API server may take to serve PodManagers after kubectl apply -f artifacts/crd.yaml.
const servedGrace = 5 * time.Second

// checkServed checks that the API server serves PodManagers, and waits up to servedGrace for a CRD that was only just applied.
func checkServed(ctx context.Context, client discovery.DiscoveryInterface, server string) error {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	deadline := time.NewTimer(servedGrace)
	defer deadline.Stop()
	notServed := fmt.Errorf("the API server at %s does not know podmanagers.%s: run kubectl apply -f artifacts/crd.yaml",
		server, podmanagerv1.GroupName)
	for answered := false; ; answered = true {
		served, err := isServed(ctx, client)
		switch {
		case served:
			return nil
		case err != nil && answered:
			return notServed // an earlier answer was "not served"; this error is most likely the timeout
		case err != nil:
			return explain(err, server)
		}
		select {
		case <-time.After(servedGrace / 20):
		case <-deadline.C:
			return notServed
		case <-ctx.Done():
			return notServed
		}
	}
}

// isServed reports whether the API server serves PodManagers. It sends the same request as ServerResourcesForGroupVersion, which takes no
// context.
func isServed(ctx context.Context, client discovery.DiscoveryInterface) (bool, error) {
	var resources metav1.APIResourceList
	err := client.RESTClient().Get().AbsPath("/apis/" + podmanagerv1.GroupVersion.String()).Do(ctx).Into(&resources)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	isOurs := func(r metav1.APIResource) bool { return r.Name == "podmanagers" }
	return slices.ContainsFunc(resources.APIResources, isOurs), err
}

// explain adds advice to an error of the API server.
func explain(err error, server string) error {
	var certificate *tls.CertificateVerificationError
	var status apierrors.APIStatus
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server at %s does not accept the credentials: "+
			"renew the token or certificate in the kubeconfig; in a pod, check that its ServiceAccount still exists (%w)", server, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the API server at %s does not let this user in: "+
			"check the user in the kubeconfig or the ServiceAccount of the pod; the ClusterRole system:discovery gives the right to read /apis (%w)",
			server, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of the API server at %s is not trusted: "+
			"check server and certificate-authority in the kubeconfig; in a pod, check the ConfigMap kube-root-ca.crt (%w)", server, certificate.Err)
	case errors.As(err, &status):
		return fmt.Errorf("the API server at %s answers with an error: %w; see kubectl get --raw /readyz?verbose", server, err)
	default:
		return fmt.Errorf("the API server at %s cannot be reached: %w; "+
			"check that it runs, and server in the kubeconfig or -master; in a pod, check the NetworkPolicies", server, err)
	}
}
