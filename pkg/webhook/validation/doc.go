// Package validation tells at apply whether the API server would take the pods of a PodManager: it tries one, as a dry-run create.
//
// Start with handler.go: ServeHTTP answers the AdmissionReviews of the API server, and judge tells which of them need a trial at all:
// those after which the pods would be other pods. trial.go makes the pod, with the code that makes the real ones, and sends it.
// verdict.go tells what the API server's answer means: what is invalid is refused, and what may be otherwise in a minute is a warning.
// path.go finds the field of the PodManager that a field of the pod comes from. review.go has the types.
//
// The package keeps nothing between two reviews: the same review gets the same answer for as long as the API server gives it. There is no
// cache either. A trial takes milliseconds, and a remembered answer would be wrong as soon as a quota has changed.
//
// Whoever reaches the port can send reviews, as the API server does not say who it is. They can make the API server try pods, but none
// comes of it, and only so many are tried at a time. They can read what it says of the quota of a namespace.
//
// Certificates, the server with its limits on slow clients, and the configuration that makes the API server ask are elsewhere.
package validation
