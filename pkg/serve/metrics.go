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
	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// The paths of the metrics. Those of single objects have a path of their own: they are many, and not everybody wants them.
const (
	MetricsPath       = "/metrics"
	ObjectMetricsPath = "/metrics/objects"
)

// Metrics is the handler of the metrics. It serves those of single objects if list is given, which returns the PodManagers to tell of.
func Metrics(list func() []*v1.PodManager) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+MetricsPath, legacyregistry.Handler())
	if list != nil {
		mux.Handle("GET "+ObjectMetricsPath, objectMetrics(list))
	}
	return mux
}

// objectMetrics writes the metrics of the PodManagers that exist when it is asked.
func objectMetrics(list func() []*v1.PodManager) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", metrics.ObjectsType)
		out := io.Writer(w)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // fails only for a level that does not exist
			defer zip.Close()
			out = zip
		}
		if err := metrics.WriteObjects(out, list()); err != nil {
			klog.FromContext(r.Context()).V(2).Info("A scrape was not read to its end", "path", r.URL.Path, "err", err)
		}
	})
}
