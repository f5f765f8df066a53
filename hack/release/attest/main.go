package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `usage: attest COMMAND FLAGS

  key      print the lines by which users know a key
  sign     sign the files of a release, and attest how they were built
  verify   check signature, checksums and provenance of a release

attest COMMAND -h tells the flags`

func main() {
	err := run(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "attest:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	commands := map[string]func([]string, io.Writer) error{"key": keyCommand, "sign": signCommand, "verify": verifyCommand}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New(usage)
	}
	return commands[args[0]](args[1:], out)
}

// parse reads the flags. All of them must have a value.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s takes flags only, not %q", flags.Name(), flags.Args())
	}
	var missing error
	flags.VisitAll(func(f *flag.Flag) {
		if f.Value.String() == "" && missing == nil {
			missing = fmt.Errorf("%s needs -%s: %s", flags.Name(), f.Name, f.Usage)
		}
	})
	return missing
}

func keyCommand(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("attest key", flag.ContinueOnError)
	path := flags.String("key", "", "the public key, such as release.pub")
	if err := parse(flags, args); err != nil {
		return err
	}
	data, err := os.ReadFile(*path)
	if err != nil {
		return err
	}
	key, err := parsePublicKey(data)
	if err != nil {
		return fmt.Errorf("%s: %w", *path, err)
	}
	text, err := pemOf(key)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n%s", signerLine(key), text)
	return nil
}

func signCommand(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("attest sign", flag.ContinueOnError)
	var about build
	folder := flags.String("folder", "", "the files of the release")
	key := flags.String("key", "", "an Ed25519 key of OpenSSH; if it is a public key, the agent signs")
	signers := flags.String("signers", "", "the file with the keys that users trust, in the form of ssh-keygen's allowed_signers")
	flags.StringVar(&about.version, "version", "", "the version, such as v0.2.0")
	flags.StringVar(&about.commit, "commit", "", "the commit")
	flags.StringVar(&about.image, "image", "", "the name of the controller's image, without tag")
	flags.StringVar(&about.digest, "digest", "", "the digest of the controller's image, sha256:...")
	flags.StringVar(&about.goVersion, "go", "", "the version of Go that has compiled the controller, such as go1.26.8")
	if err := parse(flags, args); err != nil {
		return err
	}
	trusted, err := readSigners(*signers)
	if err != nil {
		return err
	}
	signer, err := openKey(*key)
	if err != nil {
		return err
	}
	if !contains(trusted, signer.PublicKey()) {
		return fmt.Errorf("%s does not list the key %s, so users would refuse the release; add this line to it:\n%s",
			*signers, *key, signerLine(signer.PublicKey()))
	}
	if err := sign(*folder, signer, about); err != nil {
		return err
	}
	return report(out, *folder, trusted)
}

func verifyCommand(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("attest verify", flag.ContinueOnError)
	folder := flags.String("folder", "", "the files of the release")
	signers := flags.String("signers", "", "the file with the trusted keys, in the form of ssh-keygen's allowed_signers")
	if err := parse(flags, args); err != nil {
		return err
	}
	trusted, err := readSigners(*signers)
	if err != nil {
		return err
	}
	return report(out, *folder, trusted)
}
