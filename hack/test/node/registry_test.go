//go:build e2e

package node

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// registry is a real registry on 127.0.0.1. A node uses such an address without TLS, and needs no setting for that.
type registry struct {
	t            *testing.T
	address, log string
}

// image is an image that was pushed.
type image struct{ ref, digest string }

// startRegistry starts the registry on a free port, for the duration of the test.
func startRegistry(t *testing.T) *registry {
	t.Helper()
	folder := t.TempDir()
	r := &registry{t: t, log: filepath.Join(folder, "log")}
	config := filepath.Join(folder, "config.yaml")
	text := fmt.Sprintf(`{version: "0.1", log: {level: info}, http: {addr: "127.0.0.1:0"}, storage: {filesystem: {rootdirectory: %q}}}`,
		filepath.Join(folder, "images"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(tool(t, "registry"), "serve", config)
	command.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the registry ends with the tests, even if they are killed
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	r.address = r.says(regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`))
	return r
}

// says waits until the log matches, and returns the first group.
func (r *registry) says(what *regexp.Regexp) string {
	r.t.Helper()
	for deadline := time.Now().Add(harness.Patience); ; time.Sleep(20 * time.Millisecond) {
		log, err := os.ReadFile(r.log)
		if err != nil {
			r.t.Fatal(err)
		}
		if found := what.FindSubmatch(log); found != nil {
			return string(found[1])
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the registry does not say %s:\n%s", what, log)
		}
	}
}

// publish builds an image of the controller as make image does, and pushes it. The program is the one that the other tests use. The version in a
// label makes it a different image.
func (r *registry) publish(version string) image {
	r.t.Helper()
	folder, packer := r.t.TempDir(), tool(r.t, "image")
	ref := r.address + "/podmanager:" + version
	r.run(packer, "build", "-ref", ref, "-out", folder, "-version", version, "-revision", "unknown", filepath.Join(shared.cluster.Programs, "controller"))
	pushed := r.run(packer, "push", "-layout", filepath.Join(folder, "layout"), "-ref", ref)
	name, digest, ok := strings.Cut(pushed, "@")
	if !ok || name != ref {
		r.t.Fatalf("image push says %q, want %s@DIGEST", pushed, ref)
	}
	return image{ref, digest}
}

// run returns the output of a program.
func (r *registry) run(program string, args ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), program, args...)
	errors := &bytes.Buffer{}
	command.Stderr = errors
	out, err := command.Output()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", command, err, errors)
	}
	return strings.TrimSpace(string(out))
}

// tool returns the path of one of our programs.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "hack/tool.sh", name).Output()
	if err != nil {
		t.Fatalf("hack/tool.sh %s: %v", name, err)
	}
	return strings.TrimSpace(string(path))
}
