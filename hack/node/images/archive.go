package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// entry is an image in the list of a docker-archive.
type entry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// write makes an archive of images; the same programs make the same bytes.
func write(path string, specs []string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	var list []entry
	written := map[string]bool{}
	for _, spec := range specs {
		name, rest, ok := strings.Cut(spec, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME:TAG=PROGRAM", spec)
		}
		parts := strings.Split(rest, ",")
		layer, err := pack(parts[0])
		if err != nil {
			return err
		}
		config, err := describe(layer, filepath.Base(parts[0]), parts[1:])
		if err != nil {
			return err
		}
		image := entry{RepoTags: []string{name}, Config: digest(config) + ".json", Layers: []string{digest(layer) + ".tar"}}
		for file, data := range map[string][]byte{image.Config: config, image.Layers[0]: layer} {
			if written[file] {
				continue // images of one program share their layer
			}
			written[file] = true
			if err := add(archive, file, 0o644, data); err != nil {
				return err
			}
		}
		list = append(list, image)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := add(archive, "manifest.json", 0o644, data); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}

// pack is a layer with one program in it.
func pack(program string) ([]byte, error) {
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := add(archive, filepath.Base(program), 0o755, data); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

// describe is the configuration of an image. By number: Kubernetes can check runAsNonRoot only against a number.
func describe(layer []byte, program string, environment []string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/" + program}, "Env": environment, "User": "65532:65532"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
	})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func add(archive *tar.Writer, name string, mode int64, data []byte) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}
