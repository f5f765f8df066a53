// Command dashboard draws the picture of the dashboard in artifacts/monitoring, without Grafana: it starts a cluster with simulated nodes,
// two replicas of the controller and a Prometheus, plays rollouts for some minutes (some fail), asks Prometheus the dashboard's own
// queries, and plots each panel where Grafana would show it.
//
//	go run ./hack/release/dashboard     writes artifacts/monitoring/dashboard.svg
//
// Run it from the root of the project after a change of the dashboard.
//
//	main.go  flags, cluster, processes
//	story.go what happens meanwhile
//	query.go the dashboard's queries
//	draw.go  panels; chart.go the time series among them; units.go numbers as text
package main
