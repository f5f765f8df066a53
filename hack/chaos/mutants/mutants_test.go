package mutants

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// All patches apply to the current sources, change something, and leave valid Go.
func TestAllApply(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no mutants")
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			files, err := m.Patched(root)
			if err != nil {
				t.Fatal(err)
			}
			for file, content := range files {
				if _, err := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution); err != nil {
					t.Error(err)
				}
				if sound, _ := os.ReadFile(filepath.Join(root, file)); string(sound) == content {
					t.Errorf("%s is not changed", file)
				}
			}
		})
	}
}

const patch = `# It does
# nothing.
# Simulation: seed 7
# Scenarios: churn, storm:I1
diff --git a/pkg/a.go b/pkg/a.go
index 1..2 100644
--- a/pkg/a.go
+++ b/pkg/a.go
@@ -10,3 +10,3 @@ func a() {
 	one

-	two
+	three
@@ -20,1 +20,2 @@
 	end
+	more
`

func TestParse(t *testing.T) {
	m, err := parse("idle", patch)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"churn": AnyInvariant, "storm": "I1"}
	if m.About != "It does nothing." || m.Seed != 7 || !maps.Equal(m.Scenarios, want) {
		t.Errorf("read %q with seed %d and %q", m.About, m.Seed, m.Scenarios)
	}
}

func TestPatched(t *testing.T) {
	tests := map[string]struct{ source, want, failure string }{
		"as written":       {"\tone\n\n\ttwo\n\tend\n", "\tone\n\n\tthree\n\tend\n\tmore\n", ""},
		"lines have moved": {"x\n\tone\n\n\ttwo\ny\n\tend\n", "x\n\tone\n\n\tthree\ny\n\tend\n\tmore\n", ""},
		"lines are gone":   {"\tone\n\n\tend\n", "", "has these lines 0 times"},
		"lines come twice": {"\tone\n\n\ttwo\n\tend\n\tend\n", "", "has these lines 2 times"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := parse("idle", patch)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			if err := os.Mkdir(filepath.Join(folder, "pkg"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "pkg/a.go"), []byte(test.source), 0o644); err != nil {
				t.Fatal(err)
			}
			files, err := m.Patched(folder)
			switch {
			case test.failure == "" && (err != nil || files["pkg/a.go"] != test.want):
				t.Errorf("got %q, %v; want %q", files["pkg/a.go"], err, test.want)
			case test.failure != "" && (err == nil || !strings.Contains(err.Error(), "mutant idle does not apply any more") || !strings.Contains(err.Error(), test.failure)):
				t.Errorf("error %v, want %q", err, test.failure)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, broken := range map[string]string{
		"without a sentence": strings.Replace(patch, "# It does\n# nothing.\n", "", 1),
		"without simulation": strings.Replace(patch, "# Simulation: seed 7\n", "", 1),
		"without a catcher":  strings.Replace(strings.Replace(patch, "# Simulation: seed 7\n", "# Simulation: no, it cannot.\n", 1), "# Scenarios: churn, storm:I1\n", "", 1),
		"without a change":   patch[:strings.Index(patch, "@@")],
	} {
		if _, err := parse("idle", broken); err == nil {
			t.Errorf("a patch %s is accepted", name)
		}
	}
}
