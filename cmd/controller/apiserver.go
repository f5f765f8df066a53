package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

// silenceLimit is how long the API server may leave all requests unanswered before a readiness check warns. Every process sends a request
// at least every 15 s: for the lease, or to check for a rewind.
const silenceLimit = 30 * time.Second

// contact records when the API server last answered.
type contact struct {
	lastAnswer atomic.Pointer[time.Time]
}

// wrap is for rest.Config.Wrap.
func (c *contact) wrap(next http.RoundTripper) http.RoundTripper {
	return &contactTransport{c, next}
}

// warning says for how long the API server has not answered, if that is longer than silenceLimit.
func (c *contact) warning() string {
	last := c.lastAnswer.Load()
	if last == nil {
		return "has not answered yet"
	}
	if silent := time.Since(*last); silent > silenceLimit {
		return fmt.Sprintf("has not answered for %v; nothing is done meanwhile", silent.Round(time.Second))
	}
	return ""
}

// contactTransport records the answers to a client's requests.
type contactTransport struct {
	contact *contact
	next    http.RoundTripper
}

func (t *contactTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	// An API server that answers with 5xx, because it has lost etcd, might as well be unreachable.
	if err == nil && response.StatusCode < http.StatusInternalServerError {
		now := time.Now()
		t.contact.lastAnswer.Store(&now)
	}
	return response, err
}

// WrappedRoundTripper lets client-go reach the transport underneath.
func (t *contactTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// feature is a subresource that not every API server serves.
type feature struct {
	resource string // in the core group
	effect   string // what does not work without it
	since    string
}

var features = []feature{
	{"pods/resize", "CPU and memory cannot be updated in place", "Kubernetes 1.33"},
}

// logMissingFeatures logs which features the API server lacks. It is no error: everything else works without them.
func logMissingFeatures(ctx context.Context, client discovery.DiscoveryInterface) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	logger := klog.FromContext(ctx)
	var served metav1.APIResourceList
	if err := client.RESTClient().Get().AbsPath("/api/v1").Do(ctx).Into(&served); err != nil {
		logger.V(2).Info("Cannot tell which features the API server has", "err", err)
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

// serverVersion is the version of the API server.
func serverVersion(ctx context.Context, client discovery.DiscoveryInterface) string {
	var info version.Info
	data, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil || json.Unmarshal(data, &info) != nil {
		return "unknown"
	}
	return info.GitVersion
}

// logDisabledGates logs an error if the environment has turned off a client-go feature that the controller needs.
func logDisabledGates(logger klog.Logger, gates clientfeatures.Gates) {
	if !gates.Enabled(clientfeatures.AtomicFIFO) {
		// Without AtomicFIFO the stores have no resourceVersion, so that the Tracker never finds an own write in them.
		logger.Error(nil, "Each write will be followed by a wait of 10 s: client-go's feature AtomicFIFO is off; "+
			"do not set KUBE_FEATURE_AtomicFIFO=false")
	}
}
