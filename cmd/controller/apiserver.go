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

// silentFor is how long the API server may say nothing before that is worth a note. Every process asks it something at
// least every 15 s: for the lease, or whether it has gone back in time.
const silentFor = 30 * time.Second

// hearing notes when the API server last answered.
type hearing struct {
	last atomic.Pointer[time.Time]
}

// wrap is for rest.Config.Wrap.
func (h *hearing) wrap(next http.RoundTripper) http.RoundTripper {
	return &listener{h, next}
}

// note says for how long there was no answer, if that is long.
func (h *hearing) note() string {
	last := h.last.Load()
	if last == nil {
		return "has not answered yet"
	}
	if silent := time.Since(*last); silent > silentFor {
		return fmt.Sprintf("has not answered for %v; nothing is done meanwhile", silent.Round(time.Second))
	}
	return ""
}

// listener is the part of a client that hears the answers.
type listener struct {
	hearing *hearing
	next    http.RoundTripper
}

func (l *listener) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	// One that answers with errors of its own, because it has lost etcd, might as well be away.
	if err == nil && response.StatusCode < http.StatusInternalServerError {
		now := time.Now()
		l.hearing.last.Store(&now)
	}
	return response, err
}

// WrappedRoundTripper lets client-go reach the transport underneath.
func (l *listener) WrappedRoundTripper() http.RoundTripper { return l.next }

// feature is something that not every API server serves.
type feature struct {
	resource string // in the core group
	effect   string // of its absence
	since    string
}

var features = []feature{
	{"pods/resize", "CPU and memory cannot be updated in place", "Kubernetes 1.33"},
}

// examine says in the log what the API server lacks. All else works without it, so nothing else follows.
func examine(ctx context.Context, client discovery.DiscoveryInterface) {
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

// serverVersion is what the API server says that it is.
func serverVersion(ctx context.Context, client discovery.DiscoveryInterface) string {
	var info version.Info
	data, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil || json.Unmarshal(data, &info) != nil {
		return "unknown"
	}
	return info.GitVersion
}

// tellGates says so in the log if the environment has turned off what the controller is built on.
func tellGates(logger klog.Logger, gates clientfeatures.Gates) {
	if !gates.Enabled(clientfeatures.AtomicFIFO) {
		// Without it no cache tells how far it is, so that none is ever seen to show what was written.
		logger.Error(nil, "Each write will be followed by a wait of 10 s: client-go's feature AtomicFIFO is off; "+
			"do not set KUBE_FEATURE_AtomicFIFO=false")
	}
}
