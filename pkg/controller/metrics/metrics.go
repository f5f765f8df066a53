package metrics

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

const subsystem = "podmanager"

// No metric has an object's name as a label: the number of time series must not grow with the cluster.
var (
	reconciles = counters("reconcile_total", "result",
		"Syncs of PodManagers by result: changed, unchanged, waiting (for the cache), conflict or error.")
	Triggers = counters("triggers_total", "trigger",
		"Triggers of syncs, by kind: why PodManagers were synced.")
	PodFailures = counters("pod_request_failures_total", "operation",
		"Failed requests to create or delete a pod, by operation.")

	Leaving = counters("pods_replaced_early_total", "cause",
		"Pods created before the pod that they replace is gone, by the reason why that pod leaves: drain, node loss or age.")

	rollouts = counters("rollouts_total", "result",
		"Rollouts by result, each counted once: completed, halted, rolled_back, deadline or superseded.")

	Namespaces = gauges("namespaces", "state",
		"Namespaces given with -namespace (without it, all namespaces count as one), by state: starting, served, forbidden, missing or noCRD.")

	PolicyMissing = gauges("policy_missing", "policy",
		"1 if a ValidatingAdmissionPolicy of artifacts/policy.yaml is missing or not enforced, otherwise 0, by policy. "+
			"No series if the controller does not check that, or may not read the policies.")

	PodsCreated        = counter("pods_created_total", "Pods created.")
	PodsDeleted        = counter("pods_deleted_total", "Pods deleted.")
	PodsUpdatedInPlace = counter("pods_updated_in_place_total", "Pods updated in place to another revision.")
	StatusWrites       = counter("status_writes_total", "Writes of a PodManager's status.")
	StaleSkips         = counter("stale_skips_total",
		"Syncs put off because the cache had not seen the controller's own writes yet.")
	LiveReads = counter("live_reads_total",
		"Syncs that read from the API server instead of the cache.")
	PodEvents = counter("pod_events_total",
		"Pod objects received from lists and watches: how much of the cluster this replica follows.")
	Rewinds = counter("rewinds_total",
		"Times that all caches were rebuilt because the API server had gone back in time, as after an etcd restore.")
	Panics = counter("panics_total",
		"Panics caught while syncing a PodManager. Each is a bug.")

	ShardOwner = gauges("shard_owner", "shard",
		"1 if this replica works on a shard, otherwise 0, by shard. The series is missing without -shards.")
	ShardTakeovers       = counter("shard_takeovers_total", "Shards that this replica has taken.")
	ShardTakeoverSeconds = histogram("shard_takeover_duration_seconds", "Time from taking a shard's Lease until the caches of the shard are filled.",
		metrics.ExponentialBuckets(0.01, 2, 14))
	ShardHandoverSeconds = histogram("shard_handover_duration_seconds", "Time from the decision to give up a shard until its Lease is released.",
		metrics.ExponentialBuckets(0.01, 2, 14))

	reconcileSeconds = histogram("reconcile_duration_seconds", "Duration of a sync.",
		metrics.ExponentialBuckets(0.001, 2, 15))
	rolloutSeconds = histograms("rollout_duration_seconds", "result",
		"Time from a rollout's start until podmanager_rollouts_total counted it, by result; pauses, canaries and the bake time included.",
		metrics.ExponentialBuckets(5, 2, 14))
	PodReadySeconds = histogram("pod_ready_duration_seconds", "Time from a pod's creation until it became ready.",
		metrics.ExponentialBuckets(1, 2, 12))
)

func counter(name, help string) *metrics.Counter {
	return metrics.NewCounter(&metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

func counters(name, label, help string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{label})
}

func gauges(name, label, help string) *metrics.GaugeVec {
	return metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: subsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{label})
}

func histogram(name, help string, buckets []float64) *metrics.Histogram {
	return metrics.NewHistogram(&metrics.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA})
}

func histograms(name, label, help string, buckets []float64) *metrics.HistogramVec {
	return metrics.NewHistogramVec(&metrics.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA}, []string{label})
}

var registerOnce sync.Once

// Register adds the controller's metrics to the registry.
func Register() {
	registerOnce.Do(func() {
		legacyregistry.MustRegister(reconciles, reconcileSeconds, PodsCreated, PodReadySeconds, PodsDeleted, PodsUpdatedInPlace, PodFailures, Leaving, StatusWrites,
			Triggers, StaleSkips, LiveReads, PodEvents, Panics, Rewinds, Namespaces, PolicyMissing,
			rollouts, rolloutSeconds, ShardOwner, ShardTakeovers, ShardTakeoverSeconds, ShardHandoverSeconds)
		// A counter that first appears at 1 shows no increase.
		for _, result := range status.Results {
			rollouts.WithLabelValues(string(result))
			rolloutSeconds.WithLabelValues(string(result))
		}
		for _, result := range []SyncResult{ResultChanged, ResultUnchanged, ResultWaiting, ResultConflict, resultError} {
			reconciles.WithLabelValues(string(result))
		}
		for _, operation := range []string{OperationCreate, OperationDelete} {
			PodFailures.WithLabelValues(operation)
		}
		for _, cause := range []leaving.Cause{leaving.Drained, leaving.Lost, leaving.TooOld} {
			Leaving.WithLabelValues(string(cause))
		}
	})
}

// The operations of PodFailures.
const (
	OperationCreate = "create"
	OperationDelete = "delete"
)

// SyncResult is the result of a sync, and the value of the metric's label.
type SyncResult string

const (
	ResultChanged   SyncResult = "changed"
	ResultUnchanged SyncResult = "unchanged"
	ResultWaiting   SyncResult = "waiting"
	// ResultConflict means that the plan was abandoned, because an object had changed in the meantime.
	ResultConflict SyncResult = "conflict"
	resultError    SyncResult = "error"
)

func ObserveSync(duration time.Duration, result SyncResult, err error) {
	if err != nil {
		result = resultError
	}
	reconciles.WithLabelValues(string(result)).Inc()
	reconcileSeconds.Observe(duration.Seconds())
}

// ObserveRollout counts a rollout.
func ObserveRollout(end status.End, now time.Time) {
	rollouts.WithLabelValues(string(end.Result)).Inc()
	rolloutSeconds.WithLabelValues(string(end.Result)).Observe(max(0, now.Sub(end.Started)).Seconds())
}
