// Package certificates makes the certificate that webhooks are served with, and the CA that API servers trust it by.
//
// Both are in one Secret, which all replicas share. Whichever replica is first makes it; each renews what is due. decide.go decides as a
// pure function what to do next, in an order in which no API server ever meets a certificate that it does not trust yet. change.go carries a
// step out on what the Secret holds (state.go; pair.go has the cryptography). bundle.go reads and writes the CAs in the
// ValidatingWebhookConfiguration and the CRD, and touches nothing else there. manager.go runs all this, watch.go says when to look again.
//
// Nobody leads: each write names the version that it was decided on, so that of two replicas at once one wins and the other looks again.
//
// What is served is in pkg/webhook. With cert-manager none of this runs: pkg/serve reads the certificate from files.
package certificates
