// Command attest signs the files of a release with an SSH key, and verifies them: make release and make release-verify run it.
//
//	attest key      prints the lines by which users recognize a key
//	attest sign     writes SHA256SUMS.sig and provenance.sigstore.json beside SHA256SUMS
//	attest verify   fails unless signature, checksums and provenance are valid
//
// SHA256SUMS.sig is a signature in OpenSSH's format, so that users can verify it offline with their ssh-keygen. An attestation describes how the
// files were built: an in-toto statement with SLSA provenance, in a DSSE envelope signed by the same key. The envelope is in a Sigstore bundle, the
// only format that cosign 3 reads. Keyless signatures would need a network and a hosted identity at every release.
//
// The key must be Ed25519: a DSSE envelope needs its raw signature, which an agent provides, too. One kind of signature cannot be passed off as the
// other, because the signed bytes begin with SSHSIG or with DSSEv1. Nothing here depends on a clock: the same key and the same files produce the
// same bytes.
package main
