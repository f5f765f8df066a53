//go:build e2e

package simulation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// follow reads a watch until there is an event about an object with this name, and returns the events as text.
func (s *server) follow(t *testing.T, response *http.Response, last string) (events []string) {
	t.Helper()
	defer response.Body.Close()
	timer := time.AfterFunc(20*time.Second, func() { response.Body.Close() })
	defer timer.Stop()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Type   string
			Object map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		metadata, _ := event.Object["metadata"].(map[string]any)
		if event.Type == "BOOKMARK" {
			if annotations, isEnd := metadata["annotations"]; isEnd { // the times of other bookmarks differ
				events = append(events, fmt.Sprint("BOOKMARK ", annotations))
			}
			continue
		}
		labels, _ := json.Marshal(metadata["labels"])
		events = append(events, fmt.Sprintf("%s %v %s generation %v, code %v, reason %v", event.Type, metadata["name"], labels, metadata["generation"], event.Object["code"], event.Object["reason"]))
		if metadata["name"] == last {
			break
		}
	}
	return events
}

// watched compares the events of a watch that begins before or after the changes.
func (p *pair) watched(path, about string, changes []request) {
	p.t.Helper()
	r := request{Method: "GET", Path: path, Type: "application/json", About: about}
	_, real := p.real.do(p.t, r)
	_, simulated := p.simulated.do(p.t, r)
	for _, change := range changes {
		p.same(change)
	}
	p.compared++
	want, got := strings.Join(p.real.follow(p.t, real, "last"), "\n"), strings.Join(p.simulated.follow(p.t, simulated, "last"), "\n")
	if want != got {
		p.t.Errorf("watch %s\nreal\n%s\nsimulated\n%s", path, want, got)
	}
}

func TestWatches(t *testing.T) {
	for name, k := range kinds {
		for _, query := range []string{
			"?watch=1", "?watch=1&resourceVersion=0", "?watch=1&resourceVersion=$RV", "?watch=1&resourceVersion=$RV&labelSelector=x%3Dy",
			"?watch=1&resourceVersion=$RV&fieldSelector=metadata.name%3Dlast",
			"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=x%3Dy",
		} {
			t.Run(name+query, func(t *testing.T) {
				p := newPair(t)
				a := k.path + "/a"
				p.same(request{Method: "POST", Path: k.path, Body: k.of("a", `,"labels":{"x":"y"}`)})
				p.same(request{Method: "POST", Path: k.path, Body: k.of("b", "")})
				p.same(request{Method: "GET", Path: a})
				p.watched(k.path+query, "b", []request{
					{Method: "PATCH", Path: a, Type: merge, Body: k.change},
					{Method: "PATCH", Path: a, Type: merge, Body: `{"metadata":{"labels":{"x":"z"}}}`},
					{Method: "PATCH", Path: a, Type: merge, Body: `{"metadata":{"labels":{"x":"z"}}}`},
					{Method: "PATCH", Path: k.path + "/b", Type: merge, Body: `{"metadata":{"labels":{"x":"y"}}}`},
					{Method: "PATCH", Path: a, Type: merge, Body: `{"metadata":{"labels":{"x":"y"}}}`},
					{Method: "DELETE", Path: a, Body: `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`},
					{Method: "POST", Path: k.path, Body: k.of("last", `,"labels":{"x":"y"}`)},
				})
			})
		}
	}
}
