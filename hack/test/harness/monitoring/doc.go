// Package monitoring reads the alerts and the dashboard of artifacts/monitoring, and runs a real Prometheus with them. hack/test/monitoring and
// hack/release/dashboard use it. The working directory has to be the root of the project.
//
//	alerts.go     the rule file
//	dashboard.go  the dashboard, and its queries without variables
//	prometheus.go a Prometheus: start, queries, alerts
//	selectors.go  which metrics and labels a query uses
package monitoring
