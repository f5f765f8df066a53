//go:build e2e

package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/crypto/bcrypt"
)

const (
	testUser     = "ada"
	testPassword = "lovelace"
)

// startRegistry starts a real registry on a free port of 127.0.0.1, where only our user has access, and returns its address.
func startRegistry(t *testing.T) string {
	t.Helper()
	output, err := exec.Command(filepath.Join(root(t), "hack", "tool.sh"), "registry").Output()
	if err != nil {
		t.Fatalf("hack/tool.sh registry: %v", err)
	}
	folder := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte(testPassword), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	passwords, config := filepath.Join(folder, "htpasswd"), filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(passwords, fmt.Appendf(nil, "%s:%s\n", testUser, hash), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{version: "0.1", log: {level: info, formatter: text}, http: {addr: "127.0.0.1:0"},
		storage: {filesystem: {rootdirectory: %q}}, auth: {htpasswd: {realm: test, path: %q}}}`, filepath.Join(folder, "images"), passwords)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(strings.TrimSpace(string(output)), "serve", config)
	command.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return address(t, bufio.NewScanner(log))
}

// address waits for the log line with the address. It keeps reading the log, so that the registry never blocks on it.
func address(t *testing.T, log *bufio.Scanner) string {
	t.Helper()
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	lines := []string{}
	for log.Scan() {
		lines = append(lines, log.Text())
		if match := listening.FindStringSubmatch(log.Text()); match != nil {
			go func() {
				for log.Scan() {
				}
			}()
			return match[1]
		}
	}
	t.Fatalf("the registry did not start:\n%s", strings.Join(lines, "\n"))
	return ""
}

// dockerLogin writes the same file as docker login, and returns its folder.
func dockerLogin(t *testing.T, host, password string) string {
	t.Helper()
	folder := t.TempDir()
	token := base64.StdEncoding.EncodeToString([]byte(testUser + ":" + password))
	config := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, token)
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestE2ERegistry(t *testing.T) {
	folder, host := built(t), startRegistry(t)
	login := remote.WithAuth(&authn.Basic{Username: testUser, Password: testPassword})
	digest := onlyEntry(t, filepath.Join(folder, "layout")).Digest

	t.Run("make image-push", func(t *testing.T) {
		out := t.TempDir()
		makeTarget(t, root(t), "image-push", out, []string{"DOCKER_CONFIG=" + dockerLogin(t, host, testPassword)}, "IMG="+host+"/podmanager:v1")
		// The name is not part of the image.
		checkPushed(t, host+"/podmanager:v1", digest, folder, login)
	})
	t.Run("wrong password", func(t *testing.T) {
		t.Setenv("DOCKER_CONFIG", dockerLogin(t, host, "babbage"))
		err := run([]string{"push", "-layout", filepath.Join(folder, "layout"), "-ref", host + "/podmanager:v2"})
		if err == nil || !strings.Contains(err.Error(), "docker login "+host) {
			t.Errorf("error %v, want one that tells how to log in", err)
		}
	})
	t.Run("crane push of a tar", func(t *testing.T) {
		t.Setenv("DOCKER_CONFIG", dockerLogin(t, host, testPassword))
		checkTar(t, filepath.Join(folder, "podmanager_linux_arm64.tar"), host+"/tar:v1", configOf(t, folder, "arm64"))
	})
}

// checkTar pushes a tar like crane push, and pulls it.
func checkTar(t *testing.T, path, ref string, want *v1.ConfigFile) {
	t.Helper()
	image, err := crane.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := crane.Push(image, ref); err != nil {
		t.Fatal(err)
	}
	pulled, err := crane.Pull(ref)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pulled.ConfigFile()
	if err != nil || config.Architecture != want.Architecture || config.RootFS.DiffIDs[0] != want.RootFS.DiffIDs[0] {
		t.Errorf("the registry has %+v (error %v), want %+v", config, err, want)
	}
}
