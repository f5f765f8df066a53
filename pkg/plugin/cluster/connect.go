package cluster

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// Rate limits of the client, the same as in kubectl.
const (
	qps   = 50
	burst = 300
)

// Flags are kubectl's flags for the connection.
type Flags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
}

// NewFlags adds the flags.
func NewFlags(flags *pflag.FlagSet) *Flags {
	f := &Flags{rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
	flags.StringVar(&f.rules.ExplicitPath, "kubeconfig", "", "Path to the kubeconfig file to use for CLI requests")
	clientcmd.BindOverrideFlags(f.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	return f
}

// Cluster is a connection to an API server.
type Cluster struct {
	Managers  versioned.Interface
	Kube      kubernetes.Interface
	Discovery discovery.DiscoveryInterface
	// Server is the address of the API server. Namespace is the namespace that the user works in.
	Server, Namespace string

	config *rest.Config
}

// Connect creates the clients. It does not send a request.
func (f *Flags) Connect(userAgent string) (*Cluster, error) {
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, f.overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, or write ~/.kube/config")
	}
	if err != nil {
		return nil, fmt.Errorf("%w; 'kubectl config view' shows the configuration", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.QPS, config.Burst = userAgent, qps, burst
	c := &Cluster{Server: config.Host, Namespace: namespace, config: config}
	if c.Managers, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c.Kube, c.Discovery = kube, kube.Discovery()
	return c, nil
}
