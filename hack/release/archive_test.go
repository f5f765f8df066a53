package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

var testTime = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

var testFiles = []file{{"LICENSE", 0o644, []byte("terms")}, {"kubectl-podmanager", 0o755, []byte("program")}}

func TestTarball(t *testing.T) {
	data, err := gzipped(testFiles, testTime.In(time.FixedZone("Kathmandu", 20700)), gzip.Header{OS: 255})
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if compressed.Name != "" || !compressed.ModTime.IsZero() {
		t.Errorf("the gzip header is %+v, want neither name nor time", compressed.Header)
	}
	entries := tar.NewReader(compressed)
	for _, want := range testFiles {
		checkEntry(t, entries, want)
	}
	if _, err := entries.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the archive has more entries (error %v)", err)
	}
	again, err := gzipped(testFiles, testTime, gzip.Header{OS: 255})
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("in another time zone the archive has other bytes (error %v)", err)
	}
}

// checkEntry reads the next entry of a tar archive, and compares it with a file.
func checkEntry(t *testing.T, entries *tar.Reader, want file) {
	t.Helper()
	header, err := entries.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(entries)
	if err != nil || header.Name != want.name || header.Mode != want.mode || !bytes.Equal(content, want.data) {
		t.Errorf("got %s with mode %o and %q (error %v), want %+v", header.Name, header.Mode, content, err, want)
	}
	if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || !header.ModTime.Equal(testTime) {
		t.Errorf("%s belongs to %d:%d %q and is of %s, want root and %s", header.Name, header.Uid, header.Gid, header.Uname, header.ModTime, testTime)
	}
}

func TestZip(t *testing.T) {
	data, err := zipped(testFiles, testTime.In(time.FixedZone("Kathmandu", 20700)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := zipped(testFiles, testTime)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("in another time zone the archive has other bytes (error %v)", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.File) != len(testFiles) {
		t.Fatalf("%d files, want %d", len(archive.File), len(testFiles))
	}
	for i, want := range testFiles {
		got := archive.File[i]
		content, err := fs.ReadFile(archive, want.name)
		if err != nil || got.Name != want.name || got.Mode() != fs.FileMode(want.mode) || !got.Modified.Equal(testTime) || !bytes.Equal(content, want.data) {
			t.Errorf("got %s with mode %s of %s and %q (error %v), want %+v", got.Name, got.Mode(), got.Modified, content, err, want)
		}
	}
}

// TestReadFolder checks that neither the order in which files were created nor their modes matter.
func TestReadFolder(t *testing.T) {
	files, err := readFolder(fstest.MapFS{
		"oci-layout":     {Data: []byte("1"), Mode: 0o600},
		"blobs/sha256/b": {Data: []byte("2"), Mode: 0o755},
		"blobs/sha256/a": {Data: []byte("3"), Mode: 0o444},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []file{{"blobs/sha256/a", 0o644, []byte("3")}, {"blobs/sha256/b", 0o644, []byte("2")}, {"oci-layout", 0o644, []byte("1")}}
	same := func(a, b file) bool { return a.name == b.name && a.mode == b.mode && bytes.Equal(a.data, b.data) }
	if !slices.EqualFunc(files, want, same) {
		t.Errorf("got %v, want %v", files, want)
	}
}
