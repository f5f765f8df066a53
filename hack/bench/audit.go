package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// request is a request that somebody has made of the API server.
type request struct {
	user, agent string
	// what is its verb and resource, such as "update podmanagers/status".
	what string
}

// ledger is how often each kind of request was made.
type ledger map[string]int

func (l ledger) add(requests []request, by func(request) bool) (added int) {
	for _, r := range requests {
		if by(r) {
			l[r.what]++
			added++
		}
	}
	return added
}

// sum counts the requests that are asked for.
func (l ledger) sum(is func(what string) bool) int {
	sum := 0
	for what, count := range l {
		if is(what) {
			sum += count
		}
	}
	return sum
}

func isAny(string) bool { return true }

// isWrite leaves out the questions about one's own rights: they are created, but stored nowhere.
func isWrite(what string) bool {
	verb, resource, _ := strings.Cut(what, " ")
	return !slices.Contains([]string{"get", "list", "watch"}, verb) && !strings.HasPrefix(resource, "selfsubject")
}

// isStatusWrite is about the status of owners: nobody but a node writes that of a pod.
func isStatusWrite(what string) bool {
	return isWrite(what) && strings.HasSuffix(what, "/status") && !strings.HasSuffix(what, " pods/status")
}

// auditLog is the API server's audit log, from where it was read to.
type auditLog struct {
	path string
	file *os.File
	rest []byte
	// inside tells that what comes next is the rest of a line that is to be skipped.
	inside bool
}

// openAudit opens the log at its end.
func openAudit(path string) (*auditLog, error) {
	a := &auditLog{path: path}
	return a, a.skip()
}

// skip leaves out all that is in the log by now, and the rest of a line that is being written.
func (a *auditLog) skip() error {
	file, err := os.Open(a.path)
	if err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil && end > 0 {
		_, err = file.Seek(end-1, io.SeekStart) // at the line break, if that is written
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if a.file != nil {
		a.file.Close()
	}
	a.file, a.rest, a.inside = file, nil, end > 0
	return nil
}

// read returns the requests that were answered since the last call.
func (a *auditLog) read() ([]request, error) {
	data, err := io.ReadAll(a.file)
	if err != nil {
		return nil, err
	}
	if next, err := a.rotated(); err != nil {
		return nil, err
	} else if next != nil {
		// What came between the two reads is the end of the old file.
		last, errLast := io.ReadAll(a.file)
		first, errFirst := io.ReadAll(next)
		if errLast != nil || errFirst != nil {
			return nil, fmt.Errorf("the audit log: %w, %w", errLast, errFirst)
		}
		data = slices.Concat(data, last, first)
		a.file.Close()
		a.file = next
	}
	lines := bytes.Split(append(a.rest, data...), []byte("\n"))
	a.rest = slices.Clone(lines[len(lines)-1]) // half a line
	if a.inside && len(lines) > 1 {
		lines, a.inside = lines[1:], false
	}
	return parseAudit(lines[:len(lines)-1])
}

// rotated returns the new file if the API server has begun one.
func (a *auditLog) rotated() (*os.File, error) {
	old, err := a.file.Stat()
	if err != nil {
		return nil, err
	}
	now, err := os.Stat(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // for a moment
	}
	if err != nil || os.SameFile(old, now) {
		return nil, err
	}
	return os.Open(a.path)
}

// parseAudit reads lines of the log. A watch is told of when it begins and again when it ends, anything else once.
func parseAudit(lines [][]byte) ([]request, error) {
	requests := make([]request, 0, len(lines))
	for _, data := range lines {
		var line struct {
			Stage, Verb, UserAgent string
			User                   struct{ Username string }
			ObjectRef              struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(data, &line); err != nil {
			return nil, fmt.Errorf("the audit log: %w: %s", err, data)
		}
		if line.Stage == "ResponseComplete" && line.Verb == "watch" || line.Stage == "ResponseStarted" && line.Verb != "watch" {
			continue
		}
		resource := line.ObjectRef.Resource
		if resource == "" {
			resource = "other paths" // such as /apis
		}
		requests = append(requests, request{
			user: line.User.Username, agent: line.UserAgent,
			what: strings.TrimSuffix(line.Verb+" "+resource+"/"+line.ObjectRef.Subresource, "/"),
		})
	}
	return requests, nil
}
