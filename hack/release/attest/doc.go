// Command attest signs the files of a release with an SSH key, and verifies them: make release and make release-verify run it.
//
//	attest key      prints the lines by which users know a key
//	attest sign     writes SHA256SUMS.sig and provenance.sigstore.json beside SHA256SUMS
//	attest verify   fails unless signature, checksums and provenance are right
//
// SHA256SUMS.sig is a signature in OpenSSH's form, so that users can verify it offline with the ssh-keygen that they have. An attestation of
// how the files were built, in-toto's statement with SLSA's provenance, is in a DSSE envelope that the same key signs; around it is a Sigstore
// bundle, the only form that cosign 3 reads. Keyless signatures would need a network and a hosted identity at every release.
//
// The key must be Ed25519: its raw signature is what a DSSE envelope needs, and an agent gives it, too. The two kinds of signature cannot be
// taken for each other, because the signed bytes begin with SSHSIG or with DSSEv1. Nothing here comes from a clock: the same key and the
// same files give the same bytes.
package main
