package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Log reads the API server's audit log from its current position.
type Log struct {
	path string
	file *os.File
	rest []byte
	// inside is true if the next bytes are the rest of a line to be skipped.
	inside bool
}

// Open opens the log at its end.
func Open(path string) (*Log, error) {
	l := &Log{path: path}
	return l, l.Skip()
}

// All returns the requests in the current file.
func All(path string, words ...string) ([]Request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Log{path: path, file: file}
	defer func() { _ = l.Close() }()
	return l.Read(words...)
}

// Skip skips the current content of the log, and the rest of a line that is being written.
func (l *Log) Skip() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil && end > 0 {
		_, err = file.Seek(end-1, io.SeekStart) // at the last byte, which is a line break unless a line is being written
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.rest, l.inside = file, nil, end > 0
	return nil
}

// Read returns the requests that were answered since the last call. It parses only lines that contain all the words, because a log has many lines.
func (l *Log) Read(words ...string) ([]Request, error) {
	lines, err := l.readLines()
	if err != nil {
		return nil, err
	}
	var requests []Request
	for _, line := range lines {
		if slices.ContainsFunc(words, func(word string) bool { return !bytes.Contains(line, []byte(word)) }) {
			continue
		}
		request, err := parse(line)
		if err != nil {
			return nil, err
		}
		if !request.isRepeated() {
			requests = append(requests, request)
		}
	}
	return requests, nil
}

func (l *Log) readLines() ([][]byte, error) {
	data, err := io.ReadAll(l.file)
	if err != nil {
		return nil, err
	}
	if next, err := l.rotated(); err != nil {
		return nil, err
	} else if next != nil {
		// The API server may have written the end of the old file between the two reads.
		last, errLast := io.ReadAll(l.file)
		first, errFirst := io.ReadAll(next)
		if errLast != nil || errFirst != nil {
			return nil, fmt.Errorf("the audit log: %w, %w", errLast, errFirst)
		}
		data = slices.Concat(data, last, first)
		l.file.Close()
		l.file = next
	}
	lines := bytes.Split(append(l.rest, data...), []byte("\n"))
	l.rest = slices.Clone(lines[len(lines)-1]) // the last line may be incomplete
	if l.inside && len(lines) > 1 {
		lines, l.inside = lines[1:], false
	}
	return lines[:len(lines)-1], nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// rotated returns the new file if the API server has rotated the log.
func (l *Log) rotated() (*os.File, error) {
	old, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	now, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // during the rotation there is no file
	}
	if err != nil || os.SameFile(old, now) {
		return nil, err
	}
	return os.Open(l.path)
}
