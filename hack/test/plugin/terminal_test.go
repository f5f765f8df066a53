//go:build e2e

package plugin

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
)

// onTerminal runs a command on a pseudo-terminal of this size, and returns everything that it has written there.
func onTerminal(t *testing.T, command *exec.Cmd, columns, lines uint16) (string, error) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(number)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}); err != nil {
		t.Fatal(err)
	}
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(&seen, master) }) // ends with an error once the terminal is closed on all sides
	err = command.Wait()
	_ = terminal.Close()
	reader.Wait()
	return seen.String(), err
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// The live view redraws in place, on any terminal, and ends by itself.
func TestLiveView(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		columns, lines uint16
		environment    []string
		coloured       bool
	}{
		"80 columns":       {80, 24, nil, true},
		"very narrow":      {12, 24, nil, true},
		"very low":         {80, 5, nil, true},
		"NO_COLOR":         {100, 40, []string{"NO_COLOR=1"}, false},
		"no size is known": {0, 0, nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", "{replicas: 2, image: 'app:1', "+hasty+"}")
			s.pm("status", "web", "--timeout", "1m")
			s.pm("set", "image", "web", "app=app:2")
			command := s.command("get", "web", "-w", "--until-ready", "--timeout", "1m")
			command.Env = append(command.Env, test.environment...)
			got, err := onTerminal(t, command, test.columns, test.lines)
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			if hasColour := strings.Contains(got, "\x1b[32m") || strings.Contains(got, "\x1b[33m") || strings.Contains(got, "\x1b[1m"); hasColour != test.coloured {
				t.Errorf("coloured: %v\n%q", hasColour, got)
			}
			frames := strings.Split(got, "\x1b[J")
			for _, frame := range frames {
				drawn := strings.Split(strings.TrimSuffix(escapes.ReplaceAllString(frame, ""), "\r\n"), "\r\n")
				if test.lines > 0 && len(drawn) >= int(test.lines)+1 {
					t.Errorf("%d lines on a terminal of %d:\n%s", len(drawn), test.lines, frame)
				}
				for _, line := range drawn {
					if width := len([]rune(strings.Trim(line, "\r"))); test.columns > 0 && width > int(test.columns) {
						t.Errorf("%d columns: %q", width, line)
					}
				}
			}
			if test.columns >= 80 && test.lines > 10 && !strings.Contains(escapes.ReplaceAllString(frames[len(frames)-1], ""), "AllReplicasAvailable") {
				t.Errorf("the last picture is not the end:\n%s", got)
			}
		})
	}
}

// In a pipe there are lines without escape sequences, even if the reader goes away.
func TestLiveViewInAPipe(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: 'app:1', "+hasty+"}")
	got := s.pm("get", "-w", "--until-ready", "--timeout", "1m")
	if strings.Contains(got, "\x1b") || !strings.Contains(got, "web: AllReplicasAvailable (2 wanted, 2 updated, 2 available)") {
		t.Errorf("got %q", got)
	}
	broken := exec.CommandContext(t.Context(), "sh", "-c", strings.Join(s.command("get", "web", "-w", "--timeout", "3s").Args, " ")+" | head -n 1")
	broken.Env = s.command().Env
	out, err := broken.CombinedOutput()
	if err != nil || strings.Contains(string(out), "panic") || !strings.HasPrefix(string(out), "web: ") {
		t.Errorf("a reader that goes away: %v\n%s", err, out)
	}
}

// If the connection drops in the middle of a rollout, the plugin reconnects and sees the end.
func TestConnectionDrops(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'app:never-ready', "+hasty+"}")
	link, err := faults.StartLink(shared.cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	other := &space{Space: s.Space, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := link.WriteKubeconfig(other.kubeconfig); err != nil {
		t.Fatal(err)
	}
	var watching []*exec.Cmd
	var outputs []string // the files that they print to: once a program has printed something, it has read the objects and watches
	for _, arguments := range [][]string{{"status", "web", "--timeout", "100s"}, {"get", "web", "-w", "--until-ready", "--timeout", "100s"}} {
		file, err := os.Create(filepath.Join(t.TempDir(), "output"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		command := other.command(arguments...)
		command.Stdout, command.Stderr = file, file
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		watching, outputs = append(watching, command), append(outputs, file.Name())
	}
	printed := func(i int) string {
		out, _ := os.ReadFile(outputs[i])
		return string(out)
	}
	s.Await("both to watch", func() (any, bool) {
		return []string{printed(0), printed(1)}, printed(0) != "" && printed(1) != ""
	})
	link.Sever()
	s.pm("set", "image", "web", "app=app:1")
	for i, command := range watching {
		if err := command.Wait(); err != nil || !strings.Contains(printed(i), "AllReplicasAvailable") {
			t.Errorf("kubectl %v: %v\n%s", command.Args[1:], err, printed(i))
		}
	}
}
