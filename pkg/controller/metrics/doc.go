// Package metrics has the podmanager_* metrics. No label has a value per object.
//
// Metrics of client-go, the workqueue and the process are registered by cmd/controller.
package metrics
