// Package app is the process of the PodManager controller: flags, wiring, startup and shutdown. pkg/plan decides what to do about pods, and
// pkg/controller does it.
//
// Start with command.go. flags.go, options.go and webhookoptions.go turn the command line into one Config. run.go starts everything and stops it in order.
// servers.go has what every process serves. controller.go has the work that -serve=webhook leaves out, shards.go its sharded variant, and
// caches.go the informers that the work is based on. garbage.go lets the garbage collector run less often during a start. health.go has the checks
// of /livez and /readyz, and webhook.go defines which webhooks are served. signals.go handles SIGTERM and SIGINT, and version.go has the version
// of the binary.
//
// pkg/clients connects to the API server, pkg/leader elects a leader, pkg/serve serves the checks and the metrics, and pkg/webhook the
// webhooks.
package app
