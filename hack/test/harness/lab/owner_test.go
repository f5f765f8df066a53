package lab

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// state is a state folder of cluster.sh with fake clusters. A fake cluster is a folder, and processes of the programs in it.
type state struct {
	t      *testing.T
	folder string
}

func newState(t *testing.T) *state {
	return &state{t, t.TempDir()}
}

func (s *state) script(arguments ...string) (string, error) {
	run := exec.Command("../../../cluster/cluster.sh", arguments...)
	run.Env = append(os.Environ(), "PODMANAGER_STATE="+s.folder, "OWNER="+strconv.Itoa(os.Getpid()))
	out, err := run.CombinedOutput()
	return string(out), err
}

// add creates a cluster with one process, which has no PID file, as after an interrupted start. add returns once the process runs. The process ends
// with the test.
func (s *state) add(name, owner string) *exec.Cmd {
	s.t.Helper()
	bin := filepath.Join(s.folder, "clusters", name, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		s.t.Fatal(err)
	}
	program := filepath.Join(bin, "etcd")
	cat, err := exec.LookPath("cat")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(cat, program); err != nil {
		s.t.Fatal(err)
	}
	if owner != "" {
		if err := os.WriteFile(filepath.Join(s.folder, "clusters", name, "owner"), []byte(owner+"\n"), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	command := exec.Command(program, "-")
	in, _ := command.StdinPipe()
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = in.Close() })
	if _, err := io.WriteString(in, "x"); err != nil {
		s.t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		s.t.Fatal(err)
	}
	return command
}

// began returns the start time of a process, according to /proc.
func began(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Skip("there is no /proc: ", err)
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[19]
}

// TestReap checks that reap takes down the clusters of ended processes, with all their processes, prints their names, and leaves other clusters
// alone.
func TestReap(t *testing.T) {
	t.Parallel()
	s := newState(t)
	me := strconv.Itoa(os.Getpid())
	living := me + " " + began(t, os.Getpid())
	s.add("kept", "")
	s.add("mine", living)
	orphan := s.add("orphan", "4194305 1") // greater than any PID
	reused := s.add("reused", me+" 1")     // this process started at another time
	out, err := s.script("reap")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, gone := range []*exec.Cmd{orphan, reused} {
		if err := gone.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: %v, want killed", gone.Path, err)
		}
	}
	for name, want := range map[string]bool{"kept": true, "mine": true, "orphan": false, "reused": false} {
		if _, err := os.Stat(filepath.Join(s.folder, "clusters", name)); (err == nil) != want {
			t.Errorf("cluster %s: %v, want kept: %v", name, err, want)
		}
		if strings.Contains(out, "Cluster "+name+" is gone\n") == want {
			t.Errorf("cluster %s, kept: %v, and reap says\n%s", name, want, out)
		}
	}
}

// TestLogFolders checks that five folders of logs are kept, in addition to those of living processes.
func TestLogFolders(t *testing.T) {
	t.Parallel()
	s := newState(t)
	out, err := s.script("logs", "mine")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mine := strings.TrimSpace(out)
	for i := range 8 {
		if err := os.Mkdir(filepath.Join(s.folder, "logs", "other-"+strconv.Itoa(i)+"-4194305"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(s.folder, "logs")
	if out, err := exec.Command("touch", "-d", "2020-01-01", mine).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	last, err := s.script("logs", "last")
	if err != nil {
		t.Fatalf("%v\n%s", err, last)
	}
	found, err := os.ReadDir(old)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 6 {
		t.Errorf("%v are left, want five and %s", found, mine)
	}
	for _, want := range []string{mine, strings.TrimSpace(last)} {
		if _, err := os.Stat(want); err != nil {
			t.Error(err)
		}
	}
}
