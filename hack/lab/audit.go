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

// AuditLog reads the API server's audit log, from its own position on.
type AuditLog struct {
	path string
	file *os.File
	rest []byte
	// inside tells that the next bytes are the rest of a line to skip.
	inside bool
}

// OpenAuditLog opens the log at its end.
func OpenAuditLog(path string) (*AuditLog, error) {
	a := &AuditLog{path: path}
	return a, a.Skip()
}

// Skip skips the present content of the log, and the rest of a line that is being written.
func (a *AuditLog) Skip() error {
	file, err := os.Open(a.path)
	if err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil && end > 0 {
		_, err = file.Seek(end-1, io.SeekStart) // at the line break, if it is written
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
		// The API server may have written the end of the old file between the two reads.
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
	a.rest = slices.Clone(lines[len(lines)-1]) // the last line may be incomplete
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
		return nil, nil // for a moment there is no file
	}
	if err != nil || os.SameFile(old, now) {
		return nil, err
	}
	return os.Open(a.path)
}
