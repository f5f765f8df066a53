// Command controller is the PodManager controller: flags, wiring and the life of the process, and nothing else. What it does to pods is
// decided in pkg/plan and done in pkg/controller.
//
// Start with main.go. flags.go and options.go turn the command line into one configuration, connect.go makes the clients from it and
// apiserver.go checks what the API server can do. run.go starts everything and stops it in order, leader.go takes part in the leader election,
// server.go serves /healthz, /readyz and /metrics, signals.go and version.go do what they say.
package main
