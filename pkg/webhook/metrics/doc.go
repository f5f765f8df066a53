// Package metrics has the metrics of the webhooks, which a process that only serves webhooks has, too. They are separate from the
// controller's metrics: otherwise such a process would look like a controller, and no alert would fire if there is none.
package metrics
