// Package certificates manages the serving certificate of the webhooks and the CA by which API servers trust it.
//
// Both are in one Secret, which all replicas share. The first replica creates it, and every replica renews what is due. decide.go is a pure
// function that decides the next step. The order of the steps ensures that no API server ever sees a certificate that it does not trust yet.
// change.go applies a step to the content of the Secret (state.go; pair.go has the cryptography). bundle.go reads and writes the CA bundles in
// the ValidatingWebhookConfiguration and the CRD, and changes nothing else there. manager.go runs all this, and watch.go reports changes.
//
// There is no leader: each write names the resourceVersion that it is based on. If two replicas write at once, one wins and the other decides
// again.
//
// The webhooks themselves are in pkg/webhook. With cert-manager none of this runs: pkg/serve reads the certificate from files.
package certificates
