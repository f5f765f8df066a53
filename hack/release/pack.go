package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	installFile = "install.yaml"
	notesFile   = "RELEASE_NOTES.md"
	sumsFile    = "SHA256SUMS"
	timeFormat  = time.RFC3339
)

// packing has the inputs of pack.
type packing struct {
	stamps
	url       string // where the files will be published
	work      string // folder with the compiled programs, in image and plugin
	out       string
	helm      string
	imageTool string
	attest    attestation
}

func packCommand(args []string) error {
	flags := flag.NewFlagSet("release pack", flag.ContinueOnError)
	var p packing
	p.addFlags(flags)
	flags.StringVar(&p.url, "url", "", "where the files will be downloaded from")
	flags.StringVar(&p.work, "work", "", "the folder with what is compiled: image, and plugin/OS/ARCH")
	flags.StringVar(&p.out, "out", "", "the folder to write; the files of an older release in it are deleted")
	flags.StringVar(&p.helm, "helm", "", "the program helm")
	flags.StringVar(&p.imageTool, "image-tool", "", "the program of hack/release/image")
	p.attest.addFlags(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	p.url = strings.TrimSuffix(p.url, "/")
	var err error
	if p.image.digest, err = imageDigest(filepath.Join(p.work, "image", "layout"), p.image.tag); err != nil {
		return err
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	if err := replaceFiles(p.out, files); err != nil {
		return err
	}
	p.tell(os.Stdout, files)
	return p.attest.sign(os.Stdout, p.out, p.stamps)
}

// files returns all files of the release. The checksums come last.
func (p packing) files() ([]file, error) {
	files, err := p.images()
	if err != nil {
		return nil, err
	}
	plugins, err := packPlugins(filepath.Join(p.work, "plugin"), "LICENSE", p.imageTool, p.stamps)
	if err != nil {
		return nil, err
	}
	for _, plugin := range plugins {
		files = append(files, plugin.archive, plugin.sbom)
	}
	chart, err := packChart(p.helm, "artifacts/chart", p.work, p.stamps)
	if err != nil {
		return nil, err
	}
	texts, err := p.texts(plugins)
	if err != nil {
		return nil, err
	}
	files = sorted(append(append(files, chart), texts...))
	return append(files, file{sumsFile, 0o644, sums(files)}), nil
}

// images returns the layout of all platforms as one tar, and the files that make image has created next to it: a tar and an SBOM for each platform.
func (p packing) images() ([]file, error) {
	stem := "podmanager-image_" + string(p.version)
	layout, err := readFolder(os.DirFS(filepath.Join(p.work, "image", "layout")))
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	if err := tarball(&buffer, layout, p.created); err != nil {
		return nil, err
	}
	files := []file{{stem + ".tar", 0o644, buffer.Bytes()}}
	beside, err := filepath.Glob(filepath.Join(p.work, "image", "podmanager_*"))
	if err != nil {
		return nil, err
	}
	for _, path := range beside {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{stem + strings.TrimPrefix(filepath.Base(path), "podmanager"), 0o644, data})
	}
	return files, nil
}

// texts returns the files that are generated, not compiled.
func (p packing) texts(plugins []pluginArchive) ([]file, error) {
	manifests, err := readManifests("artifacts")
	if err != nil {
		return nil, err
	}
	install, err := installYAML(manifests, p.stamps, p.url)
	if err != nil {
		return nil, err
	}
	krew, err := krewManifest(plugins, p.version, p.url)
	if err != nil {
		return nil, err
	}
	tree := repository(".")
	since, err := tree.previousTag(p.version)
	if err != nil {
		return nil, err
	}
	changes, err := tree.changes(since)
	if err != nil {
		return nil, err
	}
	return []file{
		{installFile, 0o644, []byte(install)},
		{pluginName + ".yaml", 0o644, krew},
		{notesFile, 0o644, []byte(notes(changes, since, p.stamps, p.url))},
	}, nil
}

// imageDigest returns the digest of the index of all platforms, by which a registry identifies the image. The layout must contain the image with
// this tag.
func imageDigest(layout, tag string) (string, error) {
	data, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		return "", err
	}
	var index struct {
		Manifests []struct {
			Digest      string            `json:"digest"`
			Annotations map[string]string `json:"annotations"`
		} `json:"manifests"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return "", fmt.Errorf("%s: %w", layout, err)
	}
	if len(index.Manifests) != 1 {
		return "", fmt.Errorf("%s has %d images, want one", layout, len(index.Manifests))
	}
	if of := index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; of != tag {
		return "", fmt.Errorf("%s has the image of %q, want that of %s", layout, of, tag)
	}
	return index.Manifests[0].Digest, nil
}

// sums returns the checksums in the form that sha256sum -c reads.
func sums(files []file) []byte {
	var lines bytes.Buffer
	for _, file := range files {
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(file.data), file.name)
	}
	return lines.Bytes()
}

// replaceFiles replaces all files of the folder. Its subfolders stay, because one of them is the bundle.
func replaceFiles(folder string, files []file) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(folder, file.name), file.data, os.FileMode(file.mode)); err != nil {
			return err
		}
	}
	return nil
}

// tell prints what was created, and what is left to do manually.
func (p packing) tell(to io.Writer, files []file) {
	longest := slices.MaxFunc(files, func(a, b file) int { return cmp.Compare(len(a.name), len(b.name)) })
	fmt.Fprintf(to, "\nPodManager %s of commit %s, in %s:\n\n", p.version, p.commit, p.out)
	for _, file := range files {
		fmt.Fprintf(to, "  %-*s %9.1f kB\n", len(longest.name), file.name, float64(len(file.data))/1000)
	}
	fmt.Fprintf(to, `
Next:
  copy %[1]s/%[2]s into the text of the release, and shorten it there: the file is one of %[8]s
  make image-push VERSION=%[3]s IMG=%[4]s, which must end with %[5]s
  git tag -a %[3]s -m 'PodManager %[3]s' %[6]s && git push origin %[3]s
  upload all files of %[1]s to %[7]s
  make bundle VERSION=%[3]s, if a catalogue of OLM is to have it
`, p.out, notesFile, p.version, &p.image, p.image.digest, p.commit, p.url, sumsFile)
}
