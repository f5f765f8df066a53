package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSetRepository checks that the chart of a release for another registry pulls from there.
func TestSetRepository(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(chart, os.DirFS(artifacts+"/chart")); err != nil {
		t.Fatal(err)
	}
	if err := setRepository(chart, "registry.example.com/podmanager"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"values.yaml": "  repository: registry.example.com/podmanager\n", "README.md": "| `image.repository` | `\"registry.example.com/podmanager\"` |",
	} {
		data, err := os.ReadFile(filepath.Join(chart, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), want) {
			t.Errorf("%s does not have %q", file, want)
		}
	}
}

// TestSetDigest checks that a release adds one annotation to the chart, and changes nothing else.
func TestSetDigest(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(chart, os.DirFS(artifacts+"/chart")); err != nil {
		t.Fatal(err)
	}
	before := readChart(t, chart)
	if err := setDigest(chart, testDigest); err != nil {
		t.Fatal(err)
	}
	after := readChart(t, chart)
	annotations := after["annotations"].(map[string]any)
	if annotations["apps.mycompany.com/image-digest"] != testDigest {
		t.Errorf("the annotations are %v", annotations)
	}
	delete(annotations, "apps.mycompany.com/image-digest")
	if !reflect.DeepEqual(before, after) {
		t.Errorf("the rest is %v, and was %v", after, before)
	}
}

func readChart(t *testing.T, chart string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := yaml.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestUnpackChart reads a package as Helm writes it: what identifies it as Helm's is kept, the times are not.
func TestUnpackChart(t *testing.T) {
	header := gzip.Header{Comment: "Helm", Extra: []byte("+aHR0"), OS: 255}
	files := []file{{"podmanager/Chart.yaml", 0o644, []byte("name: podmanager\n")}, {"podmanager/.helmignore", 0o644, []byte("*~\n")}}
	dated := header
	dated.ModTime, dated.Name = testTime, "chart"
	packed, err := gzipped(files, testTime.AddDate(1, 0, 0), dated)
	if err != nil {
		t.Fatal(err)
	}
	got, kept, err := unpackChart(packed)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, files, func(a, b file) bool { return a.name == b.name && a.mode == b.mode && bytes.Equal(a.data, b.data) }) {
		t.Errorf("got %v, want %v in that order", got, files)
	}
	if kept.Comment != header.Comment || !bytes.Equal(kept.Extra, header.Extra) || kept.OS != header.OS || kept.Name != "" || !kept.ModTime.IsZero() {
		t.Errorf("the header is %+v, want %+v", kept, header)
	}
}
