package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is numeric, because Kubernetes can check runAsNonRoot only against a number.
const user = "65532:65532"

// contents describes an image, besides its program.
type contents struct {
	Created time.Time
	Env     []string
	Labels  map[string]string
	Ports   []string
}

// programImage returns an image that contains only the program, as its entrypoint in the root folder.
func programImage(program string, about contents) (v1.Image, error) {
	platform, err := platformOf(program)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	layer, err := programLayer(filepath.Base(program), data, about.Created)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: about.Created}, CreatedBy: "COPY " + filepath.Base(program) + " /"},
	})
	if err != nil {
		return nil, err
	}
	config := &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
		Created: v1.Time{Time: about.Created},
		Config:  runtimeConfig("/"+filepath.Base(program), about),
	}
	written, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS, config.History = written.RootFS, written.History
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(image, types.OCIConfigJSON), nil
}

// runtimeConfig returns what a container runtime reads. PATH and WorkingDir are the defaults of a Dockerfile.
func runtimeConfig(entrypoint string, about contents) v1.Config {
	config := v1.Config{
		User:       user,
		Entrypoint: []string{entrypoint},
		WorkingDir: "/",
		Env:        append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, about.Env...),
		Labels:     about.Labels,
	}
	for _, port := range about.Ports {
		if config.ExposedPorts == nil {
			config.ExposedPorts = map[string]struct{}{}
		}
		config.ExposedPorts[port] = struct{}{}
	}
	return config
}

// programLayer returns the layer with the program. It sets owner, mode and time itself instead of using those of the file, so that every build
// produces the same bytes.
func programLayer(name string, data []byte, created time.Time) (v1.Layer, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o755, ModTime: created, Format: tar.FormatUSTAR,
	}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression),
		tarball.WithCompressedCaching)
}

// platformOf returns the platform that the program is compiled for. It refuses a program that would not start without other files.
func platformOf(program string) (*v1.Platform, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("%s is not a program for Linux (%w): build it with GOOS=linux", program, err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s needs a dynamic linker, and the image has none: build it with CGO_ENABLED=0", program)
		}
	}
	switch file.Machine {
	case elf.EM_X86_64:
		return &v1.Platform{OS: "linux", Architecture: "amd64"}, nil
	case elf.EM_AARCH64:
		return &v1.Platform{OS: "linux", Architecture: "arm64"}, nil
	}
	return nil, fmt.Errorf("%s is for %s: build it with GOARCH=amd64 or GOARCH=arm64", program, file.Machine)
}
