// Package webhook tests the webhooks on a real API server, which calls the built controller on 127.0.0.1, and trusts what the controller
// has written into the ValidatingWebhookConfiguration and the CRD, as the ServiceAccount of artifacts/webhook/rbac.yaml: what users read at
// apply, and how certificates follow each other.
//
// Run it with make e2e. The objects are there once in a cluster, so the package's tests run one after the other.
//
//	main_test.go      installing the rights
//	space_test.go     what tests share: the configuration, controllers, calls
//	words_test.go     what kubectl prints: of refusals, v1alpha1
//	warnings_test.go  and of pods that the API server takes at another time
//	rotation_test.go  CAs that follow each other while the API server calls, a Secret that is deleted
//	bundle_test.go    what is written where, what is put back, and what is left alone
package webhook
