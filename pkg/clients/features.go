package clients

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

// feature is a subresource that not every API server serves.
type feature struct {
	resource string // in the core group
	effect   string // what does not work without it
	since    string
}

var features = []feature{
	{"pods/resize", "CPU and memory cannot be updated in place", "Kubernetes 1.33"},
}

// LogMissingFeatures logs which features the API server lacks. That is not an error: everything else works without them.
func (c *Clients) LogMissingFeatures(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	logger, client := klog.FromContext(ctx), c.Kube.Discovery()
	var served metav1.APIResourceList
	if err := client.RESTClient().Get().AbsPath("/api/v1").Do(ctx).Into(&served); err != nil {
		logger.V(2).Info("Cannot find out which features the API server has", "err", err)
		return
	}
	for _, f := range features {
		if slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == f.resource }) {
			continue
		}
		logger.Info("The API server lacks a feature; all else works without it", "missing", f.resource, "effect", f.effect,
			"needs", f.since, "serverVersion", serverVersion(ctx, client))
	}
}

// serverVersion returns the version of the API server.
func serverVersion(ctx context.Context, client discovery.DiscoveryInterface) string {
	var info version.Info
	data, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil || json.Unmarshal(data, &info) != nil {
		return "unknown"
	}
	return info.GitVersion
}

// LogDisabledGates logs an error if the environment disables a client-go feature that the controller needs.
func LogDisabledGates(logger klog.Logger, gates clientfeatures.Gates) {
	if !gates.Enabled(clientfeatures.AtomicFIFO) {
		// Without AtomicFIFO the stores have no resourceVersion, so the Tracker never sees the controller's own writes in them.
		logger.Error(nil, "Each write will be followed by a wait of 10 s: client-go's feature AtomicFIFO is off; "+
			"do not set KUBE_FEATURE_AtomicFIFO=false")
	}
}
