// Package webhook serves the webhooks that API servers call.
//
// server.go has the values of the limits (pkg/serve enforces those on time and connections), and the handler that processes every request before a
// webhook sees it. The handler reads the complete body up to a limit, refuses requests that no API server sends, answers one large request at a time,
// sets the deadline, counts requests, and turns a panic into a response. The webhooks themselves are in packages below this one. Each is an
// http.Handler that relies on these checks. cmd/controller decides which webhook is served where.
//
// Package metrics has the metrics of all webhooks. Package certificates manages the certificate. Listening and shutdown are in pkg/serve.
package webhook
