// Package e2ewebhook tests the certificates of the webhooks on a real API server: it calls the built controller on 127.0.0.1, and trusts what
// the controller has written into the ValidatingWebhookConfiguration and the CRD, as the ServiceAccount of artifacts/webhook/rbac.yaml.
//
// Run it with make e2e. The objects are there once in a cluster, so the package's tests run one after the other.
//
//	main_test.go      installing the rights
//	space_test.go     what tests share: the configuration, controllers, calls
//	rotation_test.go  CAs that follow each other while the API server calls, a Secret that is deleted
//	bundle_test.go    what is written where, what is put back, and what is left alone
package e2ewebhook
