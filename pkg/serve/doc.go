// Package serve serves /livez, /readyz and /metrics.
//
// server.go listens and shuts down. health.go answers in the format of the API server's own health checks.
//
// What is checked, cmd/controller decides; the podmanager_* metrics are in pkg/controller/metrics.
package serve
