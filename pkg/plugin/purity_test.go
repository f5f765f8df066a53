package plugin

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Only package cluster talks to the API server. All other packages turn objects into text and patches.
func TestOnlyClusterHasClients(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		name, _, _ := strings.Cut(path, "/")
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || name == "cluster" {
			return err
		}
		checked++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			// jsonpath lives in client-go but needs no client.
			if strings.HasPrefix(imported, "k8s.io/client-go") && imported != "k8s.io/client-go/util/jsonpath" ||
				strings.Contains(imported, "/pkg/generated") || strings.HasPrefix(imported, "net") {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		return nil
	})
	if err != nil || checked < 10 {
		t.Fatalf("%d files checked: %v", checked, err)
	}
}
