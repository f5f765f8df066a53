package audit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	createLine = `{"stage":"ResponseComplete","verb":"create","userAgent":"a/1","user":{"username":"me"},"objectRef":{"resource":"pods"}}` + "\n"
	statusLine = `{"stage":"ResponseComplete","verb":"update","user":{"username":"me"},"objectRef":{"resource":"podmanagers","subresource":"status"}}` + "\n"
	beginLine  = `{"stage":"ResponseStarted","verb":"watch","user":{"username":"me"},"objectRef":{"resource":"pods"}}` + "\n"
	endLine    = `{"stage":"ResponseComplete","verb":"watch","user":{"username":"me"},"objectRef":{"resource":"pods"}}` + "\n"
	otherLine  = `{"stage":"ResponseComplete","verb":"get","user":{"username":"you"},"requestURI":"/apis"}` + "\n"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// read returns the requests of the user me.
func read(t *testing.T, log *Log) (what []string) {
	t.Helper()
	requests, err := log.Read(`"username":"me"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		what = append(what, r.What())
	}
	return what
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, createLine)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	const create, status = "create pods", "update podmanagers/status"
	skip := func() {
		if err := log.Skip(); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		what string
		act  func()
		want []string
	}{
		{"what was there before", func() {}, nil},
		{"a watch counts once", func() { appendTo(t, path, beginLine+endLine) }, []string{"watch pods"}},
		{"half a line waits", func() { appendTo(t, path, createLine+statusLine[:20]) }, []string{create}},
		{"for its other half", func() { appendTo(t, path, statusLine[20:]) }, []string{status}},
		{"another user's", func() { appendTo(t, path, otherLine) }, nil},
		{"a new file", func() {
			appendTo(t, path, createLine)
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			appendTo(t, path, createLine+statusLine)
		}, []string{create, create, status}},
		{"after that", func() { appendTo(t, path, createLine) }, []string{create}},
		{"what is skipped", func() { appendTo(t, path, createLine); skip() }, nil},
		{"half of it not even written", func() { appendTo(t, path, createLine[:20]); skip() }, nil},
		{"its other half, and the next line", func() { appendTo(t, path, createLine[20:]+statusLine) }, []string{status}},
	}
	for _, step := range steps {
		step.act()
		if got := read(t, log); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %v, want %v", step.what, got, step.want)
		}
	}
	if all, err := All(path); err != nil || len(all) != 6 {
		t.Errorf("the present file has %v, %v; want six requests", all, err)
	}
	appendTo(t, path, "no JSON\n")
	if _, err := log.Read(); err == nil {
		t.Error("a line that is no JSON gives no error")
	}
}
