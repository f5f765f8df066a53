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

	"github.com/mycompany/podmanager/pkg/serve"
)

// Process is a controller or another program. It runs or has ended.
type Process struct {
	// Exited is closed when the process has ended. Err is set by then.
	Exited chan struct{}
	Err    error
	// Log is the file with the output.
	Log string
	// Metrics is the address of /metrics; empty if the process serves none.
	Metrics string

	health  string // the address of /readyz
	command *exec.Cmd
}

// StartProgram starts a program that writes its output to a log file. It does not wait until the program is ready.
func StartProgram(log string, command ...string) (*Process, error) {
	p := &Process{Exited: make(chan struct{}), Log: log, command: exec.Command(command[0], command[1:]...)}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.command.Stdout, p.command.Stderr = out, out
	// The process must not outlive the campaign or the tests, however they end.
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

// Await waits until the process is ready, and kills it if it is not ready in time.
func (p *Process) Await(ctx context.Context, ready func() bool) error {
	for !ready() {
		select {
		case <-p.Exited:
			return fmt.Errorf("%s ended before it was ready: %w\n%s", p.command.Path, p.Err, p.Tail(20))
		default:
		}
		if !Pause(ctx, 20*time.Millisecond) {
			return errors.Join(fmt.Errorf("%s did not become ready: %w\n%s", p.command.Path, ctx.Err(), p.Tail(20)), p.Kill())
		}
	}
	return nil
}

// Ready returns the answer of /readyz?verbose. It returns an error if the status code is not 200.
func (p *Process) Ready() (string, error) { return get("http://" + p.health + "/readyz?verbose") }

// ReadMetrics returns the answer of /metrics. ReadObjectMetrics returns the metrics of single objects.
func (p *Process) ReadMetrics() (string, error) {
	return get("http://" + p.Metrics + serve.MetricsPath)
}

func (p *Process) ReadObjectMetrics() (string, error) {
	return get("http://" + p.Metrics + serve.ObjectMetricsPath)
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

// Signal sends a signal. It is not an error if the process has ended.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill kills the process, as a crash would, and returns when it is gone.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.Exited
	}
	return err
}

// Stop ends the process with SIGTERM. After 40 s it uses SIGKILL.
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

// StopCleanly stops a process that has to end with exit code 0.
func (p *Process) StopCleanly() error {
	if err := p.Stop(); err != nil {
		return err
	}
	if p.Err != nil {
		return fmt.Errorf("the process did not stop cleanly: %w\n%s", p.Err, p.Tail(30))
	}
	return nil
}

// ExitCode returns the exit code of a process that has ended; -1 if it was killed.
func (p *Process) ExitCode() int { return p.command.ProcessState.ExitCode() }

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Tail returns the end of the output.
func (p *Process) Tail(lines int) string { return tail(p.Log, lines) }

func tail(file string, lines int) string {
	data, _ := os.ReadFile(file)
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Usage is the CPU time and memory that a process has used so far.
type Usage struct {
	CPU time.Duration
	// RSS is the current memory, PeakRSS its maximum, in bytes.
	RSS, PeakRSS int64
	// Anonymous is the part of RSS that is not backed by a file. The rest are pages of the program, which the processes of a machine share.
	Anonymous int64
}

// Received returns how many bytes the process has read so far, from connections and from files.
func (p *Process) Received() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	var bytes int64
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &bytes); err != nil {
		return 0, fmt.Errorf("/proc/%d/io cannot be parsed: %w: %s", p.command.Process.Pid, err, data)
	}
	return bytes, nil
}

// Usage reads the usage from /proc.
func (p *Process) Usage() (Usage, error) { return usageOf(p.command.Process.Pid) }

// Usage reads the usage of a component of the cluster from /proc.
func (c *Cluster) Usage(name string) (Usage, error) {
	found, err := c.find(name)
	if err != nil {
		return Usage{}, err
	}
	return usageOf(found.pid)
}

func usageOf(pid int) (Usage, error) {
	var usage Usage
	folder := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return usage, err
	}
	// Of the fields after the name, which may contain spaces, the 12th and 13th are user and system time.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return usage, fmt.Errorf("%sstat cannot be parsed: %s", folder, stat)
	}
	const ticksPerSecond = 100 // on every Linux that Go supports
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
		case "RssAnon:":
			usage.Anonymous = kilobytes << 10
		}
	}
	return usage, nil
}
