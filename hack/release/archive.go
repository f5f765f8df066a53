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

// file is a file of an archive. Owner and time are no part of it: they are the same for all.
type file struct {
	name string
	mode int64
	data []byte
}

// sorted are the files by name.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// readFolder reads all files under a folder, each readable by all and no program, whatever its mode.
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

// tarball puts the files into a tar in the order given. They belong to root and have all the same time.
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

// gzipped is a tar of the files, compressed. The header is empty but for what is given: Go writes neither name nor time by itself.
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

// zipped is a zip of the files, for Windows.
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
