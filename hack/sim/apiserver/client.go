package apiserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Faults decides what goes wrong between a client and the server. The methods are called without a lock, each in the goroutine of its request, and
// may block.
type Faults interface {
	// Before is called before the server sees a request. If it returns an API error, such as one of apierrors, the client gets that error as the
	// answer. Any other error breaks the connection. If the client gives up in the meantime, ctx is done, but the request still reaches the server
	// if Before returns nil.
	Before(ctx context.Context, r *Request) error
	// After is called with the status of the answer once the request has been carried out. If it returns an error, the client gets that error
	// instead of the answer.
	After(ctx context.Context, r *Request, status int) error
	// Watch is called when a watch begins. The Stream can be paused and cut at any time.
	Watch(stream *Stream)
}

// Client is the transport of one process.
type Client struct {
	server *Server
	name   string
	faults Faults
}

// Client returns the transport for a process. faults may be nil.
func (s *Server) Client(name string, faults Faults) *Client {
	return &Client{server: s, name: name, faults: faults}
}

// RoundTrip implements http.RoundTripper.
func (c *Client) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	r, err := c.server.parse(c.name, request)
	if err != nil {
		return nil, err
	}
	if c.faults == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := c.server.serve(ctx, r)
		return got.response(request), err
	}
	type result struct {
		*answer
		error
	}
	done := make(chan result, 1)
	c.server.reseed()
	go func() { // outlives a client that gives up: its request is already on the wire
		got, err := c.exchange(ctx, r)
		done <- result{got, err}
	}()
	select {
	case got := <-done:
		c.server.reseed()
		return got.response(request), got.error
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.cut:
		err = errCut
	}
	go func() { // close a watch that no client reads
		if got := <-done; got.answer != nil && got.stream != nil {
			_ = got.stream.Close()
		}
	}()
	return nil, err
}

// exchange serves a request with faults.
func (c *Client) exchange(ctx context.Context, r *Request) (*answer, error) {
	if err := c.faults.Before(ctx, r); err != nil {
		if _, isAnswer := err.(apierrors.APIStatus); isAnswer {
			return failure(err), nil
		}
		return nil, err
	}
	got, err := c.server.serve(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	if got.stream != nil {
		got.stream.ctx = ctx
		c.faults.Watch(got.stream)
	}
	if err := c.faults.After(ctx, r, got.code); err != nil {
		if got.stream != nil {
			_ = got.stream.Close()
		}
		return nil, err
	}
	return got, nil
}

// answer is the server's response to a request.
type answer struct {
	code   int
	body   []byte
	view   view
	text   bool    // plain text, not an object
	stream *Stream // replaces the body
	// retryAfter is in seconds; 0 if there is none.
	retryAfter int32
}

func (a *answer) response(request *http.Request) *http.Response {
	if a == nil {
		return nil
	}
	header := http.Header{"Content-Type": {a.view.mediaType()}, "Date": {time.Now().UTC().Format(http.TimeFormat)}, "Audit-Id": {"1"}}
	if a.text {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if a.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(a.retryAfter)))
	}
	response := &http.Response{
		Status: strconv.Itoa(a.code) + " " + http.StatusText(a.code), StatusCode: a.code, Header: header, Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}
	if response.Body = io.NopCloser(bytes.NewReader(a.body)); a.stream != nil {
		response.Body = a.stream
	}
	return response
}

// statusOf returns err as the API server would report it.
func statusOf(err error) *metav1.Status {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}

// failure returns the answer that reports err.
func failure(err error) *answer {
	status := statusOf(err)
	a := object200(status)
	a.code = int(status.Code)
	if status.Details != nil {
		a.retryAfter = status.Details.RetryAfterSeconds
	}
	return a
}

// object200 returns an answer with the given Go value as its body.
func object200(value any) *answer { return &answer{code: http.StatusOK, body: encode(value)} }

// notFound returns the answer for a path that is not served.
func notFound() *answer {
	return &answer{code: http.StatusNotFound, body: []byte("404 page not found\n"), text: true}
}
