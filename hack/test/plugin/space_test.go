//go:build e2e

package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// space is a test's namespace.
type space struct {
	*harness.Space
	// as is the user that the plugin impersonates. If it is empty, the plugin acts as the administrator.
	as string
	// kubeconfig is the kubeconfig that the plugin uses.
	kubeconfig string
}

func newSpace(t *testing.T) *space {
	t.Helper()
	t.Parallel()
	return &space{Space: harness.NewSpace(t, shared.cluster), kubeconfig: shared.cluster.Kubeconfig}
}

// result is the output of a command and its exit code.
type result struct {
	out, err string
	code     int
}

func (r result) String() string { return fmt.Sprintf("exit code %d\n%s%s", r.code, r.out, r.err) }

// command returns kubectl with the plugin: kubectl pm ARGUMENTS in the namespace.
func (s *space) command(arguments ...string) *exec.Cmd {
	arguments = append([]string{"pm"}, arguments...)
	arguments = append(arguments, "--namespace", s.Name, "--kubeconfig", s.kubeconfig)
	if s.as != "" {
		arguments = append(arguments, "--as", s.as)
	}
	command := exec.CommandContext(s.T.Context(), "kubectl", arguments...)
	command.Env = append(os.Environ(), "PATH="+shared.plugins+string(filepath.ListSeparator)+os.Getenv("PATH"), "KUBECONFIG=/dev/null", "TERM=xterm")
	return command
}

// try runs kubectl pm.
func (s *space) try(arguments ...string) result {
	s.T.Helper()
	return s.tryWith("", arguments...)
}

func (s *space) tryWith(input string, arguments ...string) result {
	s.T.Helper()
	var out, errOut bytes.Buffer
	command := s.command(arguments...)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &errOut
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	return result{out.String(), errOut.String(), command.ProcessState.ExitCode()}
}

// pm runs kubectl pm, which must succeed, and returns its output.
func (s *space) pm(arguments ...string) string {
	s.T.Helper()
	got := s.try(arguments...)
	if got.code != 0 {
		s.T.Fatalf("kubectl pm %s: %v", strings.Join(arguments, " "), got)
	}
	return got.out
}

// refused runs kubectl pm, which must fail with this exit code and message.
func (s *space) refused(code int, words string, arguments ...string) {
	s.T.Helper()
	if got := s.try(arguments...); got.code != code || !strings.Contains(got.err, words) {
		s.T.Errorf("kubectl pm %s: %v\nwant exit code %d and: %s", strings.Join(arguments, " "), got, code, words)
	}
}

// apply applies a PodManager with this name and spec. The spec is in YAML flow style.
func (s *space) apply(name, spec string) {
	s.T.Helper()
	s.Apply(manifestOf(name, spec))
}

// masks replace what differs between runs.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), "TIME"},
	{regexp.MustCompile(`simulated-node-\d`), "NODE"},
	{regexp.MustCompile(`\b(web-)?[b-df-hj-np-tv-z2456789]{8,10}\b`), "${1}HASH"},
	{regexp.MustCompile(`\b(\d+[dhms])+\b( ago)?`), "AGE"},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// golden compares an output with the expected one, except for what differs between runs.
func (s *space) golden(what, got, want string) {
	s.T.Helper()
	for _, mask := range masks {
		got = mask.pattern.ReplaceAllString(got, mask.mask)
	}
	got = strings.ReplaceAll(got, s.Name, "NAMESPACE")
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		s.T.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}
