package main

import (
	"archive/tar"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// dockerManifest is an entry of manifest.json, the table of contents that docker load reads.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeArchive writes the image like docker save: one tar that is both an OCI layout (containerd, skopeo oci-archive:, Docker with the containerd
// image store) and a Docker archive (any Docker, crane, skopeo docker-archive:).
func writeArchive(path string, ref reference, image v1.Image) error {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	line, err := entry(image)
	if err != nil {
		return err
	}
	if err := writeLayout(folder, ref, line); err != nil {
		return err
	}
	table, err := dockerTable(ref, image)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), table, 0o644); err != nil {
		return err
	}
	half := folder + ".tar"
	defer os.Remove(half)
	if err := pack(half, folder); err != nil {
		return err
	}
	// The archive gets its name only when it is complete, so that an interrupt leaves no partial archive.
	return os.Rename(half, path)
}

func dockerTable(ref reference, image v1.Image) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	table := dockerManifest{Config: blobPath(manifest.Config.Digest), RepoTags: []string{ref.full}}
	for _, layer := range manifest.Layers {
		table.Layers = append(table.Layers, blobPath(layer.Digest))
	}
	return json.Marshal([]dockerManifest{table})
}

func blobPath(hash v1.Hash) string {
	return "blobs/" + hash.Algorithm + "/" + hash.Hex
}

// pack writes the files of a folder to a tar, sorted by name, without owners and times: the same files produce the same bytes.
func pack(path, folder string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	writer := tar.NewWriter(file)
	files := os.DirFS(folder)
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, Format: tar.FormatUSTAR}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		_, err = writer.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return file.Close()
}
