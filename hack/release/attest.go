package main

import (
	"flag"
	"fmt"
	"io"
	"os/exec"
	"runtime"
)

// attestation is how a release is signed. Without a key, it is not signed.
type attestation struct{ tool, key, signers string }

func (a *attestation) addFlags(flags *flag.FlagSet) {
	flags.StringVar(&a.tool, "attest-tool", "", "the program of hack/release/attest")
	flags.StringVar(&a.key, "key", "", "the key to sign with; empty for a release that is not signed")
	flags.StringVar(&a.signers, "signers", "", "the file with the keys that users trust")
}

// sign runs hack/release/attest to sign the files of a folder, or prints that they are not signed.
func (a attestation) sign(to io.Writer, folder string, stamps stamps) error {
	if a.key == "" {
		fmt.Fprintf(to, "\nNOT SIGNED: users cannot tell who made these files. Give SIGNING_KEY=FILE to sign them; see hack/README.md.\n")
		return nil
	}
	command := exec.Command(a.tool, "sign", "-folder", folder, "-key", a.key, "-signers", a.signers, "-version", string(stamps.version),
		"-commit", stamps.commit, "-image", stamps.image.name, "-digest", stamps.image.digest, "-go", runtime.Version())
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("the files in %s are NOT SIGNED: %w\n%s", folder, err, output)
	}
	fmt.Fprintf(to, "\n%s", output)
	return nil
}
