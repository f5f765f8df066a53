// Package serve serves /livez, /readyz and /metrics.
//
// server.go listens and shuts down. health.go answers in the format of the API server's health checks. metrics.go serves the metrics of the process
// and, on a separate path, the kube_podmanager_* metrics of single PodManagers, which objects.go writes from the cache. guard.go allows only
// authorized users to read metrics. certificate.go sets up TLS, clients.go verifies client certificates, and follow.go rereads files when they
// change. connections.go and sparing.go limit what an unauthenticated client can do to a server, including the webhook server in pkg/webhook.
//
// cmd/controller decides what the health checks check. The metrics of the process are in pkg/controller/metrics and
// pkg/webhook/metrics.
package serve
