package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

const usage = `usage: release COMMAND FLAGS

  check    say whether this commit can become the release
  pack     make the files of the release
  bundle   make the bundle for OLM

release COMMAND -h tells the flags`

func main() {
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	commands := map[string]func([]string) error{"check": checkCommand, "pack": packCommand, "bundle": bundleCommand}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New(usage)
	}
	return commands[args[0]](args[1:])
}

// stamps identifies a release and its origin.
type stamps struct {
	version version
	image   image
	commit  string
	created time.Time // the commit's time
}

// addFlags adds the flags that all commands have.
func (s *stamps) addFlags(flags *flag.FlagSet) {
	flags.Var(&s.version, "version", "the version, such as v0.2.0")
	flags.Var(&s.image, "ref", "name and tag of the controller's image")
	flags.StringVar(&s.commit, "commit", "", "the commit")
	flags.Func("created", "the commit's time, for example 2026-01-31T12:00:00Z", func(text string) (err error) {
		s.created, err = time.Parse(time.RFC3339, text)
		return err
	})
}

// parse parses the flags, and fails if a required one is missing. Its error is one line, because make shows little more than that.
func parse(flags *flag.FlagSet, args []string, optional ...string) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stderr)
			flags.PrintDefaults()
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s takes flags only, not %q", flags.Name(), flags.Args())
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var missing error
	flags.VisitAll(func(f *flag.Flag) {
		if !given[f.Name] && !slices.Contains(optional, f.Name) && missing == nil {
			missing = fmt.Errorf("%s needs -%s: %s", flags.Name(), f.Name, f.Usage)
		}
	})
	return missing
}
