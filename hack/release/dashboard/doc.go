// Command dashboard draws the picture of the dashboard in artifacts/monitoring, without Grafana. It starts a cluster with simulated nodes, two
// replicas of the controller and a Prometheus, and runs rollouts for some minutes, some of which fail. Then it sends the dashboard's queries to
// Prometheus, and plots each panel where Grafana would show it.
//
//	go run ./hack/release/dashboard     writes artifacts/monitoring/dashboard.svg
//
// Run it from the root of the project after a change to the dashboard.
//
//	main.go  flags, cluster, processes
//	story.go what happens meanwhile
//	query.go the dashboard's queries
//	draw.go  panels; chart.go draws time series; units.go formats numbers
package main
