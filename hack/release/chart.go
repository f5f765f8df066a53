package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packChart packs artifacts/chart with the release's version. Helm decides what is in the package. It uses the times of the files on this machine,
// so the package is written again with the time of the commit.
func packChart(helm, chart, work string, stamps stamps) (file, error) {
	source := filepath.Join(work, "chart")
	if err := os.CopyFS(source, os.DirFS(chart)); err != nil {
		return file{}, err
	}
	if err := setRepository(source, stamps.image.name); err != nil {
		return file{}, err
	}
	if err := setDigest(source, stamps.image.digest); err != nil {
		return file{}, err
	}
	command := exec.Command(helm, "package", source, "--destination", work,
		"--version", stamps.version.number(), "--app-version", string(stamps.version))
	if output, err := command.CombinedOutput(); err != nil {
		return file{}, fmt.Errorf("helm package: %w\n%s", err, output)
	}
	name := "podmanager-" + stamps.version.number() + ".tgz"
	data, err := os.ReadFile(filepath.Join(work, name))
	if err != nil {
		return file{}, err
	}
	files, header, err := unpackChart(data)
	if err != nil {
		return file{}, err
	}
	data, err = gzipped(files, stamps.created, header)
	return file{name, 0o644, data}, err
}

// setRepository sets the image's name in a copy of the chart: in its values, and in the table that documents them. In the tree the name is empty and
// every user has to set it, because the tree does not know where the image will be pushed. A release does.
func setRepository(chart, repository string) error {
	for name, form := range map[string]string{"values.yaml": "  repository: %q\n", "README.md": "| `image.repository` | `%q` |"} {
		path := filepath.Join(chart, name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		before := fmt.Sprintf(form, "")
		if strings.Count(string(data), before) != 1 {
			return fmt.Errorf("%q must occur exactly once in %s", before, path)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), before, fmt.Sprintf(form, repository), 1)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// setDigest sets the image's digest in a copy of the chart. The digest is not a value, because helm upgrade --reuse-values keeps the values of the
// previous chart, and would run the previous image with the new version's rights.
func setDigest(chart, digest string) error {
	path := filepath.Join(chart, "Chart.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const before = "\nannotations:\n"
	if strings.Count(string(data), before) != 1 {
		return fmt.Errorf("%q must occur exactly once in %s", before, path)
	}
	changed := strings.Replace(string(data), before, before+"  apps.mycompany.com/image-digest: "+digest+"\n", 1)
	return os.WriteFile(path, []byte(changed), 0o644)
}

// unpackChart returns the files of a package in Helm's order, and the header by which Helm identifies the package.
func unpackChart(data []byte) ([]file, gzip.Header, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, gzip.Header{}, err
	}
	var files []file
	for entries := tar.NewReader(compressed); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return files, gzip.Header{Comment: compressed.Comment, Extra: compressed.Extra, OS: compressed.OS}, nil
		}
		if err != nil {
			return nil, gzip.Header{}, err
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			return nil, gzip.Header{}, err
		}
		files = append(files, file{entry.Name, 0o644, content})
	}
}
