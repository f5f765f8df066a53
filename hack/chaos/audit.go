package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// auditLog reads the requests in the API server's audit log from a position on.
type auditLog struct {
	file   string
	offset int64
}

// request is a line of the audit log.
type request struct {
	Verb string `json:"verb"`
	User struct {
		Username string              `json:"username"`
		Extra    map[string][]string `json:"extra"`
	} `json:"user"`
	// Received is when the API server received the request.
	Received  time.Time `json:"requestReceivedTimestamp"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (r request) String() string {
	return fmt.Sprintf("%s %s/%s %s -> %d", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Subresource, r.ObjectRef.Name, r.ResponseStatus.Code)
}

func (r request) isWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && r.ObjectRef.Resource != "leases"
}

// succeeded tells whether the API server has done what was asked.
func (r request) succeeded() bool { return r.ResponseStatus.Code >= 200 && r.ResponseStatus.Code < 300 }

// credential is the token that the request came with.
func (r request) credential() string {
	return strings.Join(r.User.Extra["authentication.kubernetes.io/credential-id"], " ")
}

// auditNow is the end of the log.
func auditNow(file string) (*auditLog, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	return &auditLog{file, info.Size()}, nil
}

// writes are the writes of a user in a namespace from a position on.
func (a *auditLog) writes(user, namespace string) ([]request, error) {
	file, err := os.Open(a.file)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < a.offset {
		a.offset = 0 // the API server has started a new file
	}
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, err
	}
	var found []request
	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return found, nil // the next call reads the incomplete line
		}
		if err != nil {
			return nil, err
		}
		var r request
		if json.Unmarshal(line, &r) == nil && r.User.Username == user && r.ObjectRef.Namespace == namespace && r.isWrite() {
			found = append(found, r)
		}
	}
}
