// Package webhook tests the webhooks on a real API server, which calls the built controller on 127.0.0.1. The controller runs as the
// ServiceAccount of artifacts/webhook/rbac.yaml, and the API server trusts the CAs that it has written into the ValidatingWebhookConfiguration
// and the CRD. The tests cover what users read on apply, and the rotation of certificates.
//
// Run it with make e2e. The objects exist once in a cluster, so the package's tests run one after the other.
//
//	main_test.go      installing the permissions
//	space_test.go     what tests share: the configuration, controllers, calls
//	words_test.go     what kubectl prints for refusals, and for v1alpha1
//	warnings_test.go  what kubectl prints for pods that the API server refuses only for now
//	rotation_test.go  rotation of CAs while the API server calls, and a deleted Secret
//	strangers_test.go unauthenticated clients that send slowly, or send large requests
//	bundle_test.go    what is written where, what is restored, and what is not touched
package webhook
