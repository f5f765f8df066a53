// Package serve serves /livez, /readyz and /metrics.
//
// server.go listens and shuts down. health.go answers in the format of the API server's own health checks. metrics.go has the metrics of the
// process and, on a path of their own, those of single objects. guard.go lets only those read who have the right, certificate.go has what
// TLS needs.
//
// What is checked, cmd/controller decides; the metrics themselves are in pkg/controller/metrics.
package serve
