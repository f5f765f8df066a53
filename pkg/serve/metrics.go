package serve

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // workqueue_*, rest_client_*, leader_election_*
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The paths of the metrics. The metrics of single objects have a separate path, because they are many and optional.
const (
	MetricsPath       = "/metrics"
	ObjectMetricsPath = "/metrics/objects"
)

// Metrics returns the handler of the metrics. If list is not nil, it also serves the metrics of the PodManagers that list returns.
func Metrics(list func() []*v1.PodManager) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+MetricsPath, legacyregistry.Handler())
	if list != nil {
		mux.Handle("GET "+ObjectMetricsPath, objectMetrics(list))
	}
	return mux
}

// objectMetrics writes the metrics of the PodManagers that exist at the time of the request.
func objectMetrics(list func() []*v1.PodManager) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", objectsType)
		out := io.Writer(w)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // fails only for an invalid level
			defer zip.Close()
			out = zip
		}
		if err := writeObjects(out, list()); err != nil {
			klog.FromContext(r.Context()).V(2).Info("A client disconnected before it had read all object metrics", "path", r.URL.Path, "err", err)
		}
	})
}
