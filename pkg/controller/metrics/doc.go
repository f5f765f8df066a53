// Package metrics has the metrics of the controller: podmanager_* in metrics.go, whose labels have no value per object, and in objects.go
// kube_podmanager_*, which are about single PodManagers and written at each scrape, from the cache.
//
// pkg/serve registers the metrics of client-go, the workqueue and the process.
package metrics
