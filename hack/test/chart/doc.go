// Package chart tests the ways to install PodManager on a real API server: artifacts/chart with the real Helm, and the kustomization for
// single namespaces. No container runs there, so KWOK plays the Deployment's pods; where a test needs a controller, it starts the program
// with the arguments of the Deployment, as the ServiceAccount that was installed.
//
// Run it with make e2e. What is installed for the whole cluster is there once, so the package's tests are the only ones that run.
//
//	main_test.go        building Helm, packaging the chart
//	install_test.go     what tests share: Helm, kubectl, the controller of a Deployment
//	values_test.go      value files: rendered, and tried on the API server; values that are refused
//	lifecycle_test.go   install, upgrade, rollback, uninstall
//	webhook_test.go     webhooks in a Deployment of their own
//	namespaced_test.go  one namespace, for those without rights in the cluster
//	testdata            value files, and what a ServiceMonitor may have
package chart
