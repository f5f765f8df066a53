// Package validation checks on apply whether the API server would accept the pods of a PodManager. It tries one with a dry-run create.
//
// Start with handler.go: ServeHTTP answers AdmissionReviews, and judge decides which of them need a trial: those that change the pods. trial.go
// creates the pod, with the code that creates the real ones, and sends it. verdict.go interprets the response: an invalid pod is refused, and a
// problem that may be temporary is a warning. path.go finds the field of the PodManager that a field of the pod comes from. review.go has the types.
//
// The package keeps no state between reviews: the same review gets the same response as long as the API server's response stays the same. There is no
// cache either. A trial takes milliseconds, and a cached response would be wrong as soon as a quota changes.
//
// By default, API servers present no client certificate, so any client that reaches the port can send reviews. Such a client can make the API server
// try pods, but no pod is created, and the number of parallel trials is limited. It can read what the API server reports about a namespace's quota.
//
// Certificates are in pkg/webhook/certificates, limits for slow clients in pkg/webhook and pkg/serve, and the webhook configuration in
// artifacts/webhook.
package validation
