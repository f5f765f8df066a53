// Package conversion tests apps.mycompany.com/v1alpha1 on a real API server: the CRD of artifacts/webhook, whose webhook is the production
// handler behind TLS on 127.0.0.1, the built controller, and the real kubectl. make e2e runs it.
//
// The CRD exists once, so the package's tests run one after the other, and no other package runs on the same cluster in the meantime. At the end
// the package restores the CRD of artifacts/crd.yaml.
//
//	main_test.go     building the plugin, starting the controller
//	webhook_test.go  the webhook that tests start and stop, and the CRD that calls it
//	space_test.go    a test's namespace: kubectl, reading in both versions
//	versions_test.go one object in both versions: create, get, explain, watch, scale
//	kept_test.go     every kind of write in v1alpha1 keeps the fields that only v1 has
//	away_test.go     without the webhook: v1, the controller, namespaces and the garbage collector keep working
//	migrate_test.go  kubectl pm migrate, until v1alpha1 can be removed
package conversion
