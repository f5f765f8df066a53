// Package webhook serves the webhooks that API servers call.
//
// server.go has the limits, and the handler that every request goes through before one of the webhooks sees it: it reads the body, whole
// and bounded, refuses what no API server sends, lets one large request through at a time, keeps the deadline, counts, and turns a panic into
// an answer. The webhooks themselves are in packages below this one, each an http.Handler that relies on this; cmd/controller says which of
// them is served where.
//
// certificates makes the certificate. How to listen and how to shut down is in pkg/serve.
package webhook
