package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a controller that runs, or did.
type Process struct {
	// Exited is closed when it has ended; Err then tells how.
	Exited chan struct{}
	Err    error
	// Log is the file with all that it printed.
	Log string
	// Metrics is the address of its metrics, if it serves any.
	Metrics string

	health  string // the address of its probes
	command *exec.Cmd
}

func start(log string, command ...string) (*Process, error) {
	p := &Process{Exited: make(chan struct{}), Log: log, command: exec.Command(command[0], command[1:]...)}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.command.Stdout, p.command.Stderr = out, out
	// It must not outlive the campaign or the tests, however those end.
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.Err = p.command.Wait()
		close(p.Exited)
	}()
	return p, nil
}

// Await waits until the process is ready. One that is not ready in time is killed.
func (p *Process) Await(ctx context.Context, ready func() bool) error {
	for !ready() {
		select {
		case <-p.Exited:
			return fmt.Errorf("the controller ended at once: %w\n%s", p.Err, p.Tail(20))
		default:
		}
		if !Pause(ctx, 20*time.Millisecond) {
			return errors.Join(fmt.Errorf("the controller did not become ready: %w\n%s", ctx.Err(), p.Tail(20)), p.Kill())
		}
	}
	return nil
}

// Ready is what /readyz?verbose says; an error if that is not 200.
func (p *Process) Ready() (string, error) { return get("http://" + p.health + "/readyz?verbose") }

// ReadMetrics is what /metrics says.
func (p *Process) ReadMetrics() (string, error) { return get("http://" + p.Metrics + "/metrics") }

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

// Signal sends a signal; a process that has ended does not mind.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill ends it the way a crash does, and returns when it is gone.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.Exited
	}
	return err
}

// Stop ends it politely, or else by force.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.Exited:
		return nil
	case <-time.After(40 * time.Second):
		return errors.Join(errors.New("still running 40 s after SIGTERM"), p.Kill())
	}
}

// Tail is the end of what it printed.
func (p *Process) Tail(lines int) string { return tail(p.Log, lines) }

func tail(file string, lines int) string {
	data, _ := os.ReadFile(file)
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Usage is what a process has taken so far.
type Usage struct {
	CPU time.Duration
	// RSS is the memory now, PeakRSS the most that it ever was, in bytes.
	RSS, PeakRSS int64
}

// Usage reads it from the kernel.
func (p *Process) Usage() (Usage, error) {
	var usage Usage
	folder := fmt.Sprintf("/proc/%d/", p.command.Process.Pid)
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return usage, err
	}
	// The fields after the name, which may have blanks: the 12th and 13th are user and system time.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return usage, fmt.Errorf("%sstat is not understood: %s", folder, stat)
	}
	const ticksPerSecond = 100 // of every Linux that Go runs on
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage, err
		}
		usage.CPU += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		return usage, err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			usage.RSS = kilobytes << 10
		case "VmHWM:":
			usage.PeakRSS = kilobytes << 10
		}
	}
	return usage, nil
}
