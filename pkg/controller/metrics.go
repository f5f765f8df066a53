package controller

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const subsystem = "podmanager"

// No metric has an object's name as a label: their number must not grow with the cluster.
var (
	reconciles = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "reconcile_total", StabilityLevel: metrics.ALPHA,
		Help: "Syncs of PodManagers by result: changed, unchanged, waiting (for the cache), conflict or error.",
	}, []string{"result"})
	reconcileSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "reconcile_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Duration of a sync.",
		Buckets: metrics.ExponentialBuckets(0.001, 2, 15),
	})
	podsCreated = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "pods_created_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods created.",
	})
	podReadySeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "pod_ready_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time from a pod's creation until it became ready.",
		Buckets: metrics.ExponentialBuckets(1, 2, 12),
	})
	podsDeleted = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "pods_deleted_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods deleted.",
	})
	podFailures = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "pod_request_failures_total", StabilityLevel: metrics.ALPHA,
		Help: "Requests to create or delete a pod that failed, by operation.",
	}, []string{"operation"})
	statusWrites = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "status_writes_total", StabilityLevel: metrics.ALPHA,
		Help: "Writes of a PodManager's status.",
	})
	triggersTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "triggers_total", StabilityLevel: metrics.ALPHA,
		Help: "What PodManagers were synced for, by kind; echoes of the controller's own writes are not among them.",
	}, []string{"trigger"})
	echoSkips = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "echo_skips_total", StabilityLevel: metrics.ALPHA,
		Help: "Syncs left out because the events showed nothing but the controller's own writes.",
	})
	staleSkips = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "stale_skips_total", StabilityLevel: metrics.ALPHA,
		Help: "Syncs put off because the cache had not seen the controller's own writes yet.",
	})
	panics = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "panics_total", StabilityLevel: metrics.ALPHA,
		Help: "Panics caught while syncing a PodManager. Each is a bug.",
	})
	rewinds = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "rewinds_total", StabilityLevel: metrics.ALPHA,
		Help: "Informers made to list anew because the API server had gone back in time, as after an etcd restore.",
	})
	liveReads = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "live_reads_total", StabilityLevel: metrics.ALPHA,
		Help: "Syncs that read from the API server because the cache stayed behind.",
	})
)

var registerOnce sync.Once

// RegisterMetrics adds the controller's metrics to the registry that /metrics serves.
func RegisterMetrics() {
	registerOnce.Do(func() {
		legacyregistry.MustRegister(reconciles, reconcileSeconds, podsCreated, podReadySeconds, podsDeleted, podFailures, statusWrites,
			triggersTotal, echoSkips, staleSkips, liveReads, panics, rewinds)
	})
}

// syncResult is what came of a sync, as the metric calls it.
type syncResult string

const (
	resultChanged   syncResult = "changed"
	resultUnchanged syncResult = "unchanged"
	resultWaiting   syncResult = "waiting"
	resultConflict  syncResult = "conflict"
	resultError     syncResult = "error"
)

func observeSync(duration time.Duration, result syncResult, err error) {
	switch {
	case apierrors.IsConflict(err):
		result = resultConflict
	case err != nil:
		result = resultError
	}
	reconciles.WithLabelValues(string(result)).Inc()
	reconcileSeconds.Observe(duration.Seconds())
}
