// Package metrics has the podmanager_* metrics, without a label that grows with the number of objects.
//
// Metrics of client-go, the workqueue and the process are registered by cmd/controller.
package metrics
