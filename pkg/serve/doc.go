// Package serve serves /livez, /readyz and /metrics.
//
// server.go listens and shuts down. health.go answers in the format of the API server's own health checks. metrics.go has the metrics of the
// process and, on a path of their own, those of single objects. guard.go lets only those read who have the right, certificate.go has what
// TLS needs, clients.go verifies certificates of clients, follow.go reads files again when they change. connections.go and sparing.go limit
// what an unauthenticated client can do to a server, also to that of the webhooks in pkg/webhook.
//
// What is checked, cmd/controller decides; the metrics themselves are in pkg/controller/metrics.
package serve
