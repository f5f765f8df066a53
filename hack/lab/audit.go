package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// AuditLog is the API server's audit log, from where it was read to.
type AuditLog struct {
	path string
	file *os.File
	rest []byte
	// inside tells that what comes next is the rest of a line that is to be skipped.
	inside bool
}

// OpenAuditLog opens it at its end.
func OpenAuditLog(path string) (*AuditLog, error) {
	a := &AuditLog{path: path}
	return a, a.Skip()
}

// Skip leaves out all that is in the log by now, and the rest of a line that is being written.
func (a *AuditLog) Skip() error {
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

// ReadLines returns the lines that were written since the last call.
func (a *AuditLog) ReadLines() ([][]byte, error) {
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
	return lines[:len(lines)-1], nil
}

// Close ends the reading.
func (a *AuditLog) Close() error { return a.file.Close() }

// rotated returns the new file if the API server has begun one.
func (a *AuditLog) rotated() (*os.File, error) {
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
