package clients

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// An API server that answers only with 5xx counts as unreachable.
func TestContact(t *testing.T) {
	for code, isAnswer := range map[int]bool{200: true, 404: true, 429: true, 500: false, 503: false} {
		server := httptest.NewServer(statusAnswer(code, "Any"))
		defer server.Close()
		c := &Contact{}
		client := http.Client{Transport: c.wrap(http.DefaultTransport)}
		response, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := c.Warning() == ""; got != isAnswer {
			t.Errorf("code %d counts as an answer: %v, want %v", code, got, isAnswer)
		}
	}
}
