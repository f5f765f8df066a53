package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

const usage = `usage: image COMMAND FLAGS

  archive  put one program into a tar that Docker, containerd, crane and skopeo take
  build    make the image of the controller, for all platforms, with SBOMs
  push     send what build has made to a registry
  sbom     list the modules in any Go program

image COMMAND -h tells the flags`

func main() {
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	commands := map[string]func([]string) error{"archive": archive, "build": build, "push": push, "sbom": describe}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New(usage)
	}
	return commands[args[0]](args[1:])
}

// pairs has the values of a repeatable flag K=V.
type pairs []string

func (p *pairs) String() string { return strings.Join(*p, " ") }

func (p *pairs) Set(value string) error {
	if key, _, ok := strings.Cut(value, "="); !ok || key == "" {
		return fmt.Errorf("%q must be KEY=VALUE", value)
	}
	*p = append(*p, value)
	return nil
}

// epoch is the default time. It is never the current time, because the same input has to produce the same image.
var epoch = time.Unix(0, 0).UTC()

// moment is a flag with a time in RFC 3339 format.
type moment struct{ time.Time }

func (m *moment) String() string { return m.Format(time.RFC3339) }

func (m *moment) Set(value string) (err error) {
	m.Time, err = time.Parse(time.RFC3339, value)
	return err
}

func archive(args []string) error {
	flags := flag.NewFlagSet("image archive", flag.ContinueOnError)
	created := moment{epoch}
	var env, labels pairs
	program := flags.String("program", "", "the static program; its name in the image is / and the last part of this path")
	ref := flags.String("ref", "", "the image's name and tag, for example docker.io/local/web:1")
	out := flags.String("out", "", "the tar to write")
	flags.Var(&created, "created", "the time of the image and its file, for example 2026-01-31T12:00:00Z")
	flags.Var(&env, "env", "an environment variable KEY=VALUE; may be repeated")
	flags.Var(&labels, "label", "a label KEY=VALUE; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *program == "" || *ref == "" || *out == "" || flags.NArg() > 0 {
		flags.Usage()
		return errors.New("archive needs -program, -ref and -out, and nothing else")
	}
	name, err := parseReference(*ref)
	if err != nil {
		return err
	}
	image, err := programImage(*program, contents{Created: created.Time, Env: env, Labels: labels.labels()})
	if err != nil {
		return err
	}
	return writeArchive(*out, name, image)
}

// describe writes the SBOM of one program, which may be compiled for any platform.
func describe(args []string) error {
	flags := flag.NewFlagSet("image sbom", flag.ContinueOnError)
	created := moment{epoch}
	program := flags.String("program", "", "the Go program")
	version := flags.String("version", "", "the program's version")
	out := flags.String("out", "", "the file to write, in SPDX 2.3")
	flags.Var(&created, "created", "the commit's time, for example 2026-01-31T12:00:00Z")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *program == "" || *version == "" || *out == "" || flags.NArg() > 0 {
		flags.Usage()
		return errors.New("sbom needs -program, -version and -out, and nothing else")
	}
	document, err := sbom(*program, *version, license, created.Time)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, document, 0o644)
}

// labels returns the pairs as a map. If a key occurs twice, the last one counts.
func (p *pairs) labels() map[string]string {
	labels := map[string]string{}
	for _, pair := range *p {
		key, value, _ := strings.Cut(pair, "=")
		labels[key] = value
	}
	return labels
}
