// Package podstate derives facts from pods: whether a pod is ready, finished, marked or disrupted, what its kubelet reports, what keeps a container
// from running, and which pods to delete first. A pod is marked if a user has requested its deletion with the annotation apps.mycompany.com/delete.
//
// Start with state.go. kubelet.go has what the kubelet reports about resizes and observed generations, and gate.go has our readiness gate. clock.go
// interprets times from a node with a wrong clock. trouble.go describes what is wrong with a container, ending.go decides which terminations of a
// container say nothing about its revision, and disruption.go describes why a pod was disrupted. ranking.go has the order of deletion: of equally
// useful pods, the next one comes from the zone and the node with the most pods left. names.go has the names, indices and labels of pods. eviction.go
// decides whether Cluster Autoscaler may remove a pod's node, and vpa.go whether VerticalPodAutoscaler sizes the pod. trim.go drops the fields that
// no plan reads.
//
// The functions here look at a single pod, or compare pods with each other. They know neither revisions nor the PodManager's history. Package health
// decides whether a pod is available, which also depends on updates in place.
package podstate
