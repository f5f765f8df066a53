package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"

	podmanagerv1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// discoveryTimeout bounds discovery requests, so that a user does not wait long for the error of an API server that does not answer.
const discoveryTimeout = 10 * time.Second

// servedGrace is how long the API server may take to serve PodManagers after kubectl apply -f artifacts/crd.yaml.
const servedGrace = 5 * time.Second

// clients are the connections to one API server.
type clients struct {
	source.Clients
	server string
	// lease does not share the rate limiter of the other clients: a leader must not lose the Lease because it is busy.
	lease kubernetes.Interface
	// contact is shared by all clients.
	contact *contact
}

// connect makes the clients, and checks that the API server can be reached and serves PodManagers.
func connect(ctx context.Context, config *Config) (*clients, error) {
	restConfig, err := loadRESTConfig(config.Kubeconfig, config.Master)
	if err != nil {
		return nil, err
	}
	restConfig.UserAgent = readBuild().userAgent()
	c, err := newClients(restConfig, config)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", configSource(config.Kubeconfig), err)
	}
	if err := checkServed(ctx, c.PodManagers.Discovery(), c.server); err != nil {
		return nil, err
	}
	return c, nil
}

// loadRESTConfig does not use clientcmd.BuildConfigFromFlags, which logs a warning in a cluster, and falls back to the in-cluster
// config if a kubeconfig is empty.
func loadRESTConfig(kubeconfig, master string) (*rest.Config, error) {
	if kubeconfig == "" && master == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("no cluster to work on: this is not a pod, so give -kubeconfig FILE, such as ~/.kube/config")
		}
		if err != nil {
			return nil, fmt.Errorf("the pod's ServiceAccount cannot be used: %w; is automountServiceAccountToken off? "+
				"Turn it on, or give -kubeconfig FILE", err)
		}
		return config, nil
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	file, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("-kubeconfig %s cannot be read: %w; give a readable kubeconfig file", kubeconfig, err)
	}
	overrides := &clientcmd.ConfigOverrides{ClusterInfo: clientcmdapi.Cluster{Server: master}}
	config, err := clientcmd.NewDefaultClientConfig(*file, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("it names no cluster") // client-go's message asks for an environment variable that has no effect here
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w; check it with kubectl config view", configSource(kubeconfig), err)
	}
	return config, nil
}

func newClients(restConfig *rest.Config, config *Config) (*clients, error) {
	contact := &contact{}
	restConfig.Wrap(contact.wrap)
	leaseConfig := rest.CopyConfig(restConfig)
	c := &clients{server: restConfig.Host, contact: contact}
	reports := rest.CopyConfig(restConfig)
	// These clients share one rate limiter, so that the flags bound their requests together.
	restConfig.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	var err error
	if c.PodManagers, err = versioned.NewForConfig(restConfig); err != nil { // JSON: custom resources have no protobuf
		return nil, err
	}
	if c.Dynamic, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, err
	}
	if c.Kube, err = kubernetes.NewForConfig(withProtobuf(restConfig)); err != nil {
		return nil, err
	}
	if c.Metadata, err = metadata.NewForConfig(restConfig); err != nil {
		return nil, err
	}
	// Events and statuses have another rate limiter, so that pod requests never wait for them; the controller bounds how many are
	// written at the same time.
	reports.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	if c.Statuses, err = versioned.NewForConfig(reports); err != nil {
		return nil, err
	}
	if c.Events, err = kubernetes.NewForConfig(withProtobuf(reports)); err != nil {
		return nil, err
	}
	if config.Lease != nil {
		leaseConfig.UserAgent += "/leader-election"
		// A request that hangs must leave time for a second one before the renew deadline.
		leaseConfig.Timeout = max(time.Second, config.Lease.RenewDeadline/2)
		if c.lease, err = kubernetes.NewForConfig(withProtobuf(leaseConfig)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func withProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

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
			return notServed // the answer before was "not served"; this error is most likely the timeout
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

// isServed asks for our group version like ServerResourcesForGroupVersion, which takes no context.
func isServed(ctx context.Context, client discovery.DiscoveryInterface) (bool, error) {
	var resources metav1.APIResourceList
	err := client.RESTClient().Get().AbsPath("/apis/" + podmanagerv1.GroupVersion.String()).Do(ctx).Into(&resources)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	isOurs := func(r metav1.APIResource) bool { return r.Name == "podmanagers" }
	return slices.ContainsFunc(resources.APIResources, isOurs), err
}

// explain adds to an error of the API server what to do about it.
func explain(err error, server string) error {
	var certificate *tls.CertificateVerificationError
	var status apierrors.APIStatus
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server at %s does not accept the credentials: "+
			"renew the token or certificate in the kubeconfig (%w)", server, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the API server at %s does not let this user in: "+
			"check the user in the kubeconfig, or run kubectl apply -f artifacts/rbac.yaml (%w)", server, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of the API server at %s is not trusted: "+
			"check server and certificate-authority in the kubeconfig (%w)", server, certificate.Err)
	case errors.As(err, &status):
		return fmt.Errorf("the API server at %s is in trouble: %w; see kubectl get --raw /readyz?verbose", server, err)
	default:
		return fmt.Errorf("the API server at %s cannot be reached: %w; "+
			"check that it runs, and server in the kubeconfig or -master", server, err)
	}
}

func configSource(kubeconfig string) string {
	if kubeconfig == "" {
		return "the connection to the API server"
	}
	return "-kubeconfig " + kubeconfig
}
