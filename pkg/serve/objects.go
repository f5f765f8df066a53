package serve

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
)

// objectsType is the content type of writeObjects' output.
const objectsType = "text/plain; version=0.0.4; charset=utf-8"

// objectFamily is a metric with a time series for each PodManager.
type objectFamily struct {
	name, help string
	value      func(*v1.PodManager) int64
}

// objectFamilies use the names that kube-state-metrics uses for the same values of a Deployment.
var objectFamilies = []objectFamily{
	{"spec_replicas", "Pods wanted.", func(m *v1.PodManager) int64 { return int64(m.DesiredReplicas()) }},
	{"spec_paused", "1 if rollouts are paused, otherwise 0.", func(m *v1.PodManager) int64 { return oneIf(m.Spec.Paused) }},
	{"status_replicas", "Active pods.", func(m *v1.PodManager) int64 { return int64(m.Status.Replicas) }},
	{"status_replicas_ready", "Active pods that are ready.", func(m *v1.PodManager) int64 { return int64(m.Status.ReadyReplicas) }},
	{"status_replicas_available", "Active pods that have been ready for minReadySeconds.", func(m *v1.PodManager) int64 { return int64(m.Status.AvailableReplicas) }},
	{"status_replicas_updated", "Active pods of the current template.", func(m *v1.PodManager) int64 { return int64(m.Status.UpdatedReplicas) }},
	{"status_replicas_terminating", "Pods that are being deleted.", func(m *v1.PodManager) int64 { return int64(m.Status.TerminatingReplicas) }},
	{"metadata_generation", "Generation of the spec.", func(m *v1.PodManager) int64 { return m.Generation }},
	{"status_observed_generation", "Generation that the status is about; -1 before the first status.", func(m *v1.PodManager) int64 { return m.Status.ObservedGeneration }},
	{"created", "Unix time at which the PodManager was created.", func(m *v1.PodManager) int64 { return m.CreationTimestamp.Unix() }},
}

func oneIf(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// writeObjects writes the kube_podmanager_* metrics of these PodManagers in Prometheus' text format. It does not use a registry, which would
// need an object, a copy and a sort for each time series.
func writeObjects(out io.Writer, managers []*v1.PodManager) error {
	managers = slices.Clone(managers)
	slices.SortFunc(managers, func(a, b *v1.PodManager) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	w := bufio.NewWriterSize(out, 64<<10)
	labels := make([]string, len(managers)) // that identify each PodManager
	for i, m := range managers {
		labels[i] = label("namespace", m.Namespace) + "," + label("podmanager", m.Name)
	}
	for _, family := range objectFamilies {
		begin(w, family.name, family.help)
		for i, m := range managers {
			series(w, family.name, labels[i], family.value(m))
		}
	}
	begin(w, "status_replicas_leaving", "Pods that still run but no longer count, by the reason why they leave (drain, node loss or age), "+
		"among the first 100 of a PodManager. Only with spec.disruption.")
	for i, m := range managers {
		if m.Spec.Disruption == nil {
			continue
		}
		for _, leaves := range leavingCauses {
			series(w, "status_replicas_leaving", labels[i]+","+label("cause", string(leaves.label)), countLeaving(m, leaves.cause))
		}
	}
	begin(w, "info", "Always 1; the label update_revision is the revision of the current template.")
	for i, m := range managers {
		series(w, "info", labels[i]+","+label("update_revision", m.Status.UpdateRevision), 1)
	}
	begin(w, "status_condition", "1 for each condition that the PodManager has, with its current status (true, false or unknown) and reason as labels.")
	for i, m := range managers {
		for _, c := range m.Status.Conditions {
			status := label("condition", c.Type) + "," + label("status", strings.ToLower(string(c.Status))) + "," + label("reason", c.Reason)
			series(w, "status_condition", labels[i]+","+status, 1)
		}
	}
	return w.Flush() // returns the first error of all writes
}

// leavingCauses are the causes for which pods leave, with their labels in the metric pods_replaced_early_total.
var leavingCauses = []struct {
	cause v1.LeavingCause
	label leaving.Cause
}{{v1.LeavingForDrain, leaving.Drained}, {v1.LeavingForNodeLoss, leaving.Lost}, {v1.LeavingForAge, leaving.TooOld}}

// countLeaving counts the pods that leave for a cause, among those that the status names.
func countLeaving(manager *v1.PodManager, cause v1.LeavingCause) (count int64) {
	for _, pod := range manager.Status.LeavingPods {
		if pod.Cause == cause {
			count++
		}
	}
	return count
}

// begin writes the header of a metric.
func begin(w *bufio.Writer, name, help string) {
	_, _ = w.WriteString("# HELP kube_podmanager_" + name + " " + help + "\n# TYPE kube_podmanager_" + name + " gauge\n")
}

// series writes a time series.
func series(w *bufio.Writer, name, labels string, value int64) {
	_, _ = w.WriteString("kube_podmanager_" + name + "{" + labels + "} " + strconv.FormatInt(value, 10) + "\n")
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(name, value string) string { return name + `="` + labelEscaper.Replace(value) + `"` }
