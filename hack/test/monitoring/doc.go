// Package monitoring tests artifacts/monitoring with a real Prometheus, which scrapes a real controller on a real API server. In its copy of the
// alerts every minute is a second: an alert that waits for five minutes waits for five seconds here.
//
// Run it with make e2e. hack/test/harness/monitoring runs the Prometheus. promtool tests the original alerts (hack/verify-monitoring.sh).
//
//	main_test.go    the controller and the Prometheus that all tests share
//	metrics_test.go every metric and label of alerts and dashboard exists
//	alerts_test.go  alerts become pending, fire, and are over
package monitoring
