package main

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var testTime = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// compiled returns the path of a small static program for a platform, in a file named web.
func compiled(t *testing.T, platform string) string {
	t.Helper()
	system, architecture, _ := strings.Cut(platform, "/")
	folder := t.TempDir()
	source, program := filepath.Join(folder, "main.go"), filepath.Join(folder, "web")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, source)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return program
}

// file is an expected file of a layer.
type file struct {
	name     string
	mode     int64
	uid, gid int
	size     int64
	modified time.Time
}

func filesOf(t *testing.T, layer v1.Layer) []file {
	t.Helper()
	stream, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	files := []file{}
	for reader := tar.NewReader(stream); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{header.Name, header.Mode, header.Uid, header.Gid, header.Size, header.ModTime.UTC()})
	}
}

func TestProgramImage(t *testing.T) {
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		t.Run(platform, func(t *testing.T) {
			program := compiled(t, platform)
			image, err := programImage(program, contents{Created: testTime, Env: []string{"VERSION=2"}, Ports: []string{"80/tcp"},
				Labels: map[string]string{"a": "b"}})
			if err != nil {
				t.Fatal(err)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if got := config.Platform().String(); got != platform {
				t.Errorf("platform %s, want %s", got, platform)
			}
			if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/web"}) ||
				!slices.Contains(config.Config.Env, "VERSION=2") || !maps.Equal(config.Config.Labels, map[string]string{"a": "b"}) ||
				len(config.Config.ExposedPorts) != 1 || !config.Created.Equal(testTime) {
				t.Errorf("configuration %+v", config)
			}
			info, err := os.Stat(program)
			if err != nil {
				t.Fatal(err)
			}
			layers, err := image.Layers()
			if err != nil || len(layers) != 1 {
				t.Fatalf("layers %v, error %v; want one", layers, err)
			}
			want := []file{{"web", 0o755, 0, 0, info.Size(), testTime}}
			if got := filesOf(t, layers[0]); !slices.Equal(got, want) {
				t.Errorf("the layer has %+v, want %+v", got, want)
			}
		})
	}
}

func TestUnfitPrograms(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	program := compiled(t, "linux/amd64")
	for name, test := range map[string]struct{ program, want string }{
		"missing":           {filepath.Join(t.TempDir(), "none"), "no such file"},
		"a script":          {script, "build it with GOOS=linux"},
		"for another CPU":   {patched(t, program, 18, byte(elf.EM_RISCV)), "build it with GOARCH=amd64 or GOARCH=arm64"},
		"dynamically bound": {patched(t, program, 64, byte(elf.PT_INTERP)), "build it with CGO_ENABLED=0"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := programImage(test.program, contents{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// patched returns a copy of the program with another byte in its ELF header: 18 is the machine, 64 is the type of the first segment.
func patched(t *testing.T, program string, place int, value byte) string {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	data[place] = value
	path := filepath.Join(t.TempDir(), "patched")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
