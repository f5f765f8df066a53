package plugin

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Messages, help texts and manuals call the plugin by one name only, whichever of its two names it is installed under.
func TestOneName(t *testing.T) {
	other := regexp.MustCompile(`kubectl[ \n]+(// |# )?podmanager\b`)
	checked := 0
	check := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checked++
		if found := other.Find(data); found != nil {
			t.Errorf("%s says %q, want %q", path, found, text.Command)
		}
	}
	root := "../.."
	check(filepath.Join(root, "README.md"))
	check(filepath.Join(root, "Makefile"))
	for _, folder := range []string{"artifacts", "cmd", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			// The tests of completion install the plugin under its long name.
			if err == nil && entry.Type().IsRegular() && !strings.HasSuffix(path, "_test.go") {
				check(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 200 {
		t.Errorf("only %d files were checked", checked)
	}
}
