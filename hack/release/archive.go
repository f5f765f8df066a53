package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"slices"
	"time"
)

// file is a file of an archive. It has no owner and no time, because these are the same for all files.
type file struct {
	name string
	mode int64
	data []byte
}

// sorted returns the files sorted by name.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// readFolder reads all files under a folder. Regardless of its mode, each is readable by all and not executable.
func readFolder(folder fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(folder, name)
		files = append(files, file{name, 0o644, data})
		return err
	})
	return files, err
}

// tarball writes the files to a tar in the given order. They belong to root and all have the same time.
func tarball(to io.Writer, files []file, modified time.Time) error {
	writer := tar.NewWriter(to)
	for _, file := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: file.name, Size: int64(len(file.data)), Mode: file.mode, ModTime: modified.UTC(), Format: tar.FormatUSTAR,
		}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		if _, err := writer.Write(file.data); err != nil {
			return err
		}
	}
	return writer.Close()
}

// gzipped returns a compressed tar of the files. The gzip header has only the given fields: Go adds neither name nor time.
func gzipped(files []file, modified time.Time, header gzip.Header) ([]byte, error) {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	writer.Header = header
	if err := tarball(writer, files, modified); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// zipped returns a zip of the files, for Windows.
func zipped(files []file, modified time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	writer := zip.NewWriter(&buffer)
	for _, file := range files {
		header := &zip.FileHeader{Name: file.name, Method: zip.Deflate, Modified: modified.UTC()}
		header.SetMode(fs.FileMode(file.mode))
		part, err := writer.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(file.data); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
