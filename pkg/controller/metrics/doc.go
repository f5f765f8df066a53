// Package metrics has the podmanager_* metrics. No label has a value per object.
//
// pkg/serve registers the metrics of client-go, the workqueue and the process.
package metrics
