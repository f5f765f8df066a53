package clients

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// silenceLimit is how long the API server may leave all requests unanswered before a readiness check warns. Every controller sends a request at
// least every 15 s, to renew the Lease or to check for a rewind.
const silenceLimit = 30 * time.Second

// Contact records when the API server last answered.
type Contact struct {
	lastAnswer atomic.Pointer[time.Time]
}

// wrap returns next with a record of its answers. It has the signature that rest.Config.Wrap takes.
func (c *Contact) wrap(next http.RoundTripper) http.RoundTripper {
	return &contactTransport{c, next}
}

// Answered records that the API server has just answered.
func (c *Contact) Answered() {
	now := time.Now()
	c.lastAnswer.Store(&now)
}

// Warning returns a text that says for how long the API server has not answered, or that it has never answered. It returns empty if the last answer
// is at most silenceLimit ago.
func (c *Contact) Warning() string {
	last := c.lastAnswer.Load()
	if last == nil {
		return "has not answered yet"
	}
	if silent := time.Since(*last); silent > silenceLimit {
		return fmt.Sprintf("has not answered for %v, or only with errors; nothing is done meanwhile", silent.Round(time.Second))
	}
	return ""
}

// contactTransport records the answers to a client's requests.
type contactTransport struct {
	contact *Contact
	next    http.RoundTripper
}

func (t *contactTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	// An API server that answers with 5xx, because it has lost etcd, might as well be unreachable.
	if err == nil && response.StatusCode < http.StatusInternalServerError {
		t.contact.Answered()
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (t *contactTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
