//go:build e2e

package core

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// startController starts a controller and waits until it is ready.
func startController(name string, flags ...string) (*lab.Process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	return shared.cluster.Start(ctx, name, append([]string{"-v", "4"}, flags...)...)
}

// private starts a controller for this test only. It serves PodManagers with the private label in the test's namespace.
func (s *space) private(flags ...string) *lab.Process {
	s.T.Helper()
	p, err := startController(s.Name, append([]string{"-namespace", s.Name, "-selector", privateLabel}, flags...)...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = p.Kill() })
	return p
}

// launch starts a controller for this test only, without waiting until it is ready.
func (s *space) launch(flags ...string) *lab.Process {
	s.T.Helper()
	p, err := shared.cluster.Launch(s.Name, append([]string{"-v", "4", "-selector", privateLabel}, flags...)...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = p.Kill() })
	return p
}

// kill kills a controller, as a crash would.
func kill(t *testing.T, p *lab.Process) {
	t.Helper()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

// restart kills a private controller and starts another.
func (s *space) restart(p *lab.Process) *lab.Process {
	s.T.Helper()
	kill(s.T, p)
	return s.private()
}

// metric returns the sum of all series of a controller's metric whose labels match.
func metric(t *testing.T, p *lab.Process, name, labels string) float64 {
	t.Helper()
	body, err := p.ReadMetrics()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, line := range regexp.MustCompile(`(?m)^`+name+`(?:\{(.*)\})? (\S+)$`).FindAllStringSubmatch(body, -1) {
		if value, err := strconv.ParseFloat(line[2], 64); err == nil && strings.Contains(line[1], labels) {
			sum += value
		}
	}
	return sum
}

// logged returns the lines of a controller's log that contain a text.
func logged(t *testing.T, p *lab.Process, text string) []string {
	t.Helper()
	data, err := os.ReadFile(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
