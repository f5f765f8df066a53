package leader

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestIsWithin(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		since time.Time
		want  bool
	}{
		"never":                            {time.Time{}, false},
		"just now":                         {now, true},
		"a moment before the limit":        {now.Add(-9 * time.Second), true},
		"at the limit":                     {now.Add(-10 * time.Second), false},
		"long ago by the wall clock alone": {now.Round(0).Add(-time.Hour), false},
		"in the future, as after a step backwards": {now.Round(0).Add(time.Hour), true}, // a real renewal also has a monotonic reading
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := isWithin(10*time.Second, test.since, now); got != test.want {
				t.Errorf("isWithin returns %v", got)
			}
		})
	}
}

type countingTransport struct{ requests int }

func (c *countingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	c.requests++
	return &http.Response{Body: io.NopCloser(strings.NewReader(""))}, nil
}

func TestGuardWrites(t *testing.T) {
	held := true
	work := whileHeld(t.Context(), func() bool { return held })
	tests := map[string]struct {
		ctx    context.Context
		method string
		held   bool
		passes bool
	}{
		"a write while held":               {work, http.MethodPost, true, true},
		"a write after that":               {work, http.MethodPatch, false, false},
		"a delete after that":              {work, http.MethodDelete, false, false},
		"a read after that":                {work, http.MethodGet, false, true},
		"a write of another client":        {t.Context(), http.MethodPut, false, true},
		"a write of work that has a child": {context.WithoutCancel(work), http.MethodPut, false, false},
		"a shard of a group that is held":  {whileHeld(work, func() bool { return true }), http.MethodPut, true, true},
		"a shard of a group that is not":   {whileHeld(work, func() bool { return true }), http.MethodPut, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next := &countingTransport{}
			held = test.held
			request, err := http.NewRequestWithContext(test.ctx, test.method, "http://127.0.0.1/", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := GuardWrites(next).RoundTrip(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if passed := next.requests == 1; passed != test.passes || errors.Is(err, errNotHeld) == test.passes {
				t.Errorf("the guard sent %d requests and returned the error %v", next.requests, err)
			}
		})
	}
}
