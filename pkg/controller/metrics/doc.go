// Package metrics has the podmanager_* metrics of the controller, whose labels have no value per object. Those of single PodManagers are in
// pkg/serve, which also registers the metrics of client-go, the workqueue and the process.
package metrics
