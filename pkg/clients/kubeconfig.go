package clients

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// loadRESTConfig returns the configuration for connecting to the API server. It does not use clientcmd.BuildConfigFromFlags, which logs a
// warning in a cluster, and falls back to the in-cluster config if a kubeconfig is empty.
func loadRESTConfig(c Config) (*rest.Config, error) {
	kubeconfig, master := c.Kubeconfig, c.Master
	if c.REST != nil {
		return rest.CopyConfig(c.REST), nil
	}
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
		return nil, fmt.Errorf("%s cannot be used: %w; check the cluster and the user that the file names", configSource(kubeconfig), err)
	}
	return config, nil
}

func configSource(kubeconfig string) string {
	if kubeconfig == "" {
		return "the connection to the API server"
	}
	return "-kubeconfig " + kubeconfig
}
