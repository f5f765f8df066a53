package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/mycompany/podmanager/hack/lab"
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

func TestAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, createLine)
	log, err := lab.OpenAuditLog(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		what string
		act  func()
		want ledger // of the user me
	}{
		{"what was there before", func() {}, ledger{}},
		{"a watch counts once", func() { appendTo(t, path, beginLine+endLine) }, ledger{"watch pods": 1}},
		{"half a line waits", func() { appendTo(t, path, createLine+statusLine[:20]) }, ledger{"create pods": 1}},
		{"for its other half", func() { appendTo(t, path, statusLine[20:]) }, ledger{"update podmanagers/status": 1}},
		{"somebody else's", func() { appendTo(t, path, otherLine) }, ledger{}},
		{"a new file", func() {
			appendTo(t, path, createLine)
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			appendTo(t, path, createLine+statusLine)
		}, ledger{"create pods": 2, "update podmanagers/status": 1}},
		{"after that", func() { appendTo(t, path, createLine) }, ledger{"create pods": 1}},
		{"what is skipped", func() {
			appendTo(t, path, createLine)
			if err := log.Skip(); err != nil {
				t.Fatal(err)
			}
		}, ledger{}},
		{"half of it not even written", func() {
			appendTo(t, path, createLine[:20])
			if err := log.Skip(); err != nil {
				t.Fatal(err)
			}
		}, ledger{}},
		{"its other half, and the next line", func() { appendTo(t, path, createLine[20:]+statusLine) }, ledger{"update podmanagers/status": 1}},
	}
	for _, step := range steps {
		step.act()
		requests, err := readAudit(log)
		if err != nil {
			t.Fatal(err)
		}
		got := ledger{}
		got.add(requests, func(r request) bool { return r.user == "me" })
		if !maps.Equal(got, step.want) {
			t.Errorf("%s: got %v, want %v", step.what, got, step.want)
		}
	}
}

func TestParseAudit(t *testing.T) {
	if _, err := parseAudit([][]byte{[]byte("no JSON")}); err == nil {
		t.Error("a line that is no JSON gives no error")
	}
	got, err := parseAudit([][]byte{[]byte(otherLine)})
	if err != nil || len(got) != 1 || got[0].what != "get other paths" || got[0].user != "you" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLedger(t *testing.T) {
	l := ledger{"create pods": 5, "get pods": 1, "list pods": 1, "watch pods": 1, "update replicasets/status": 2, "patch podmanagers/status": 3, "patch pods/status": 4}
	for name, test := range map[string]struct {
		is   func(string) bool
		want int
	}{
		"all":           {isAny, 17},
		"writes":        {isWrite, 14},
		"status writes": {isStatusWrite, 5},
	} {
		if got := l.sum(test.is); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
