package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pluginArchive is the plugin for one platform, packed.
type pluginArchive struct {
	os, arch string
	program  string // its name in the archive
	archive  file
	sbom     file
}

// packPlugins packs the compiled programs of a folder, OS/ARCH/kubectl-podmanager, each with the license.
func packPlugins(folder, license, imageTool string, stamps stamps) ([]pluginArchive, error) {
	programs, err := filepath.Glob(filepath.Join(folder, "*", "*", "kubectl-podmanager*"))
	if err != nil {
		return nil, err
	}
	if len(programs) == 0 {
		return nil, fmt.Errorf("there is no plugin in %s: say PLUGIN_PLATFORMS='linux/amd64 ...'", folder)
	}
	terms, err := os.ReadFile(license)
	if err != nil {
		return nil, err
	}
	var plugins []pluginArchive
	for _, program := range programs {
		plugin, err := packPlugin(program, terms, imageTool, stamps)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, plugin)
	}
	return plugins, nil
}

func packPlugin(program string, license []byte, imageTool string, stamps stamps) (pluginArchive, error) {
	folder := filepath.Dir(program)
	plugin := pluginArchive{os: filepath.Base(filepath.Dir(folder)), arch: filepath.Base(folder), program: filepath.Base(program)}
	data, err := os.ReadFile(program)
	if err != nil {
		return plugin, err
	}
	files := sorted([]file{{plugin.program, 0o755, data}, {"LICENSE", 0o644, license}})
	stem := fmt.Sprintf("kubectl-podmanager_%s_%s_%s", stamps.version, plugin.os, plugin.arch)
	if plugin.os == "windows" {
		plugin.archive = file{name: stem + ".zip", mode: 0o644}
		plugin.archive.data, err = zipped(files, stamps.created)
	} else {
		plugin.archive = file{name: stem + ".tar.gz", mode: 0o644}
		plugin.archive.data, err = gzipped(files, stamps.created, gzip.Header{OS: 255})
	}
	if err != nil {
		return plugin, err
	}
	plugin.sbom = file{name: stem + ".spdx.json", mode: 0o644}
	plugin.sbom.data, err = describe(program, imageTool, stamps)
	return plugin, err
}

// describe runs hack/release/image to write the SBOM, as for the images.
func describe(program, imageTool string, stamps stamps) ([]byte, error) {
	out := filepath.Join(filepath.Dir(program), "sbom.spdx.json")
	command := exec.Command(imageTool, "sbom", "-program", program, "-version", string(stamps.version),
		"-created", stamps.created.UTC().Format(timeFormat), "-out", out)
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("image sbom: %w\n%s", err, output)
	}
	defer os.Remove(out)
	return os.ReadFile(out)
}
