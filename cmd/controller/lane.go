package main

import "net/http"

// maxInFlight is how many requests are under way at the same time. An API server that is asked for more than it has processors for
// does not get faster; it stops serving watches in time instead, ours and those of the scheduler and the nodes, and closes them.
const maxInFlight = 32

// lane lets a number of requests through at the same time.
type lane chan struct{}

func (l lane) wrap(next http.RoundTripper) http.RoundTripper { return &narrow{next, l} }

// narrow sends requests through a lane.
type narrow struct {
	next http.RoundTripper
	lane lane
}

func (n *narrow) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Has("watch") { // it stays, and costs nothing
		return n.next.RoundTrip(request)
	}
	select {
	case n.lane <- struct{}{}:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	defer func() { <-n.lane }()
	return n.next.RoundTrip(request)
}

// WrappedRoundTripper is what client-go looks for when it logs requests or gives up connections.
func (n *narrow) WrappedRoundTripper() http.RoundTripper { return n.next }
