//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// process is a running controller.
type process struct {
	command *exec.Cmd
	exited  chan struct{}
	err     error
	log     string
	metrics string
	health  string
}

var processes atomic.Int32

// startProcess starts the controller and waits until it is ready.
func startProcess(name string, flags ...string) (*process, error) {
	p, err := launchProcess(name, flags...)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := p.ready(); err == nil {
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("the controller ended at once: %w\n%s", p.err, p.tail())
		default:
		}
	}
	_ = p.kill()
	return nil, fmt.Errorf("the controller did not become ready\n%s", p.tail())
}

// launchProcess starts the controller.
func launchProcess(name string, flags ...string) (*process, error) {
	metrics, health, err := freePorts()
	if err != nil {
		return nil, err
	}
	p := &process{
		exited:  make(chan struct{}),
		log:     filepath.Join(shared.folder, fmt.Sprintf("%s-%d.log", name, processes.Add(1))),
		metrics: metrics, health: health,
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	arguments := append([]string{"-kubeconfig", shared.kubeconfig, "-v", "4",
		"-metrics-bind-address", metrics, "-health-probe-bind-address", health}, flags...)
	p.command = exec.Command(shared.binary, arguments...)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// ready is what /readyz?verbose says; an error if that is not 200.
func (p *process) ready() (string, error) {
	return get("http://" + p.health + "/readyz?verbose")
}

// lines are those of the log in which a text is.
func (p *process) lines(t *testing.T, text string) []string {
	t.Helper()
	data, err := os.ReadFile(p.log)
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

// private starts a controller of the test's own, for PodManagers with the private label in the test's namespace.
func (s *space) private(flags ...string) *process {
	s.t.Helper()
	p, err := startProcess(s.name, append([]string{"-namespace", s.name, "-selector", privateLabel}, flags...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.kill() })
	return p
}

// stop ends the controller the polite way, and tells whether it left with 0.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(40 * time.Second):
		return errors.Join(errors.New("still running 40 s after SIGTERM"), p.kill())
	}
	if p.err != nil {
		return fmt.Errorf("%w\n%s", p.err, p.tail())
	}
	return nil
}

// kill ends it the way a crash does.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.exited
	return nil
}

// tail is the end of the log.
func (p *process) tail() string {
	data, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// metric is the sum of all series of a metric whose labels match.
func (p *process) metric(t *testing.T, name, labels string) float64 {
	t.Helper()
	body, err := get("http://" + p.metrics + "/metrics")
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

func get(url string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// freePorts finds two addresses that nobody listens on.
func freePorts() (first, second string, err error) {
	for _, address := range []*string{&first, &second} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer listener.Close()
		*address = listener.Addr().String()
	}
	return first, second, nil
}
