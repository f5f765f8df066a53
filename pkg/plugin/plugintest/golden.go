package plugintest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/mycompany/podmanager/pkg/plugin/text"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares lines with the file called name in the test's testdata folder. With the -update flag it writes the file.
func Golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got, file := text.Join(lines), filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}
