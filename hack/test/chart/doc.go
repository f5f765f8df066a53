// Package chart tests the ways to install PodManager on a real API server: artifacts/chart with the real Helm, and the kustomization for single
// namespaces. No containers run there: KWOK simulates the Deployment's pods. If a test needs a controller, it starts the program with the
// arguments of the Deployment, as the installed ServiceAccount.
//
// Run it with make e2e. Cluster-wide objects exist once, so no other tests may run at the same time.
//
//	main_test.go        building Helm, packaging the chart
//	install_test.go     what tests share: Helm, kubectl, the controller of a Deployment
//	values_test.go      value files: rendered, and tried on the API server; flags
//	pods_test.go        labels on all objects, settings of pods, alerts with links
//	refusals_test.go    values that are refused
//	lifecycle_test.go   install, upgrade, rollback, uninstall; taking over from kubectl
//	webhook_test.go     webhooks in a separate Deployment
//	namespaced_test.go  one namespace, for users without permissions in the cluster
//	testdata            the image, value files, and CRDs of other projects
package chart
