// Command controller is the process of the PodManager controller: flags, wiring, start and shutdown. pkg/plan decides what to do about
// pods, and pkg/controller does it.
//
// Start with main.go. flags.go and options.go turn the command line into one Config. run.go starts everything and stops it in order,
// server.go serves /livez, /readyz and /metrics. signals.go handles SIGTERM and SIGINT, version.go has the version of the binary.
package main
