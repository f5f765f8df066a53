// Package metrics has the metrics of the controller. metrics.go has podmanager_*, whose labels have no value per object. objects.go has
// kube_podmanager_*, which describe single PodManagers, and writes them from the cache at each scrape.
//
// pkg/serve registers the metrics of client-go, the workqueue and the process.
package metrics
