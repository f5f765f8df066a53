// Package podstate reads facts off pods: whether it is ready, finished, marked or disrupted, what its kubelet reports, what keeps
// a container from running, and how useful the pod is when there are too many. A pod is marked if somebody has asked for its deletion
// with the annotation apps.mycompany.com/delete.
//
// Start with state.go. kubelet.go has what the kubelet says about resizes and observed generations, gate.go our readiness gate,
// trouble.go what is wrong with a container, disruption.go why a pod was disrupted, ranking.go the order of deletion, and
// names.go the names, indices and labels of pods. trim.go drops the fields that no plan reads.
//
// A function here looks at a single pod, or compares pods with each other, and knows neither revisions nor the PodManager's history. Whether a pod is available, which
// also depends on updates in place, is decided in package health.
package podstate
