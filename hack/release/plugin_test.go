package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPackPlugins checks that each platform has an archive that its users can open. A script replaces the image tool.
func TestPackPlugins(t *testing.T) {
	folder := t.TempDir()
	for _, program := range []string{"linux/arm64/kubectl-podmanager", "windows/amd64/kubectl-podmanager.exe"} {
		path := filepath.Join(folder, program)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	imageTool := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(imageTool, []byte("#!/bin/sh\nfor last; do :; done\necho \"$*\" >\"$last\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plugins, err := packPlugins(folder, "../../LICENSE", imageTool, testStamps("v0.2.0"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, plugin := range plugins {
		got = append(got, plugin.os+" "+plugin.arch+" "+plugin.program+" "+plugin.archive.name+" "+plugin.sbom.name)
		if want := "-version v0.2.0 -created 2026-01-31T12:00:00Z"; !strings.Contains(string(plugin.sbom.data), want) {
			t.Errorf("the SBOM was asked for with %s, want %s", plugin.sbom.data, want)
		}
	}
	want := []string{
		"linux arm64 kubectl-podmanager kubectl-podmanager_v0.2.0_linux_arm64.tar.gz kubectl-podmanager_v0.2.0_linux_arm64.spdx.json",
		"windows amd64 kubectl-podmanager.exe kubectl-podmanager_v0.2.0_windows_amd64.zip kubectl-podmanager_v0.2.0_windows_amd64.spdx.json",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if !bytes.HasPrefix(plugins[0].archive.data, []byte("\x1f\x8b")) || !bytes.HasPrefix(plugins[1].archive.data, []byte("PK")) {
		t.Error("an archive does not have the format of its extension")
	}
	if _, err := packPlugins(t.TempDir(), "../../LICENSE", imageTool, testStamps("v0.2.0")); err == nil || !strings.Contains(err.Error(), "PLUGIN_PLATFORMS") {
		t.Errorf("error %v, want one that says how to get plugins", err)
	}
}
