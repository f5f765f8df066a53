// Pins what signs and verifies releases, apart from the product's own requirements and vendor folder.
// hack/tool.sh builds the program.
module github.com/mycompany/podmanager/hack/release/attest

go 1.26.8

require (
	github.com/hiddeco/sshsig v0.2.0
	github.com/in-toto/attestation v1.2.0
	github.com/secure-systems-lab/go-securesystemslib v0.11.0
	golang.org/x/crypto v0.58.0
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sys v0.49.0 // indirect
