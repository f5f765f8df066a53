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

// TestSetRepository checks that the chart of a release pulls from the registry of the release, and that the chart in the tree pulls from none.
func TestSetRepository(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(chart, os.DirFS(artifacts+"/chart")); err != nil {
		t.Fatal(err)
	}
	const repository = "registry.example.com/podmanager"
	if before := repositoryValue(t, chart); before != "" {
		t.Errorf("before a release the repository is %q, want none", before)
	}
	if err := setRepository(chart, repository); err != nil {
		t.Fatal(err)
	}
	if after := repositoryValue(t, chart); after != repository {
		t.Errorf("the repository is %q, want %q", after, repository)
	}
	readme, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil || !strings.Contains(string(readme), "| `image.repository` | `\""+repository+"\"` |") {
		t.Errorf("the table of the values does not have the repository (error %v)", err)
	}
	if err := setRepository(chart, repository); err == nil || !strings.Contains(err.Error(), "must occur exactly once in") {
		t.Errorf("a repository that is already set can be replaced: error %v", err)
	}
}

func repositoryValue(t *testing.T, chart string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	return text(values, "image", "repository")
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
		t.Errorf("the rest of Chart.yaml is %v, and was %v", after, before)
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
