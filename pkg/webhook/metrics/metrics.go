package metrics

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const subsystem = "podmanager"

var (
	requests = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "webhook_requests_total", StabilityLevel: metrics.ALPHA,
		Help: "Requests to the webhooks, by path (path=\"none\" if it is not served) and HTTP code.",
	}, []string{"path", "code"})
	seconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "webhook_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help: "Time from a webhook's request until its answer, by path.", Buckets: metrics.ExponentialBuckets(0.001, 2, 14),
	}, []string{"path"})
	Panics = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "webhook_panics_total", StabilityLevel: metrics.ALPHA,
		Help: "Panics caught while answering a webhook's request. Each is a bug.",
	})
	CertificateEnd = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "webhook_certificate_expiration_timestamp_seconds", StabilityLevel: metrics.ALPHA,
		Help: "Unix time at which the certificate of the webhooks expires if the controller has issued it, otherwise 0.",
	})
	CertificateStart = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "webhook_certificate_start_timestamp_seconds", StabilityLevel: metrics.ALPHA,
		Help: "Unix time from which the certificate of the webhooks is valid if the controller has issued it, otherwise 0. " +
			"Together with the expiration, it shows how much of the lifetime is left.",
	})
)

var registerOnce sync.Once

// Register adds the metrics to the registry that /metrics serves.
func Register() {
	registerOnce.Do(func() { legacyregistry.MustRegister(requests, seconds, Panics, CertificateEnd, CertificateStart) })
}

// Observe counts a request.
func Observe(path string, code int, duration time.Duration) {
	requests.WithLabelValues(path, strconv.Itoa(code)).Inc()
	seconds.WithLabelValues(path).Observe(duration.Seconds())
}
