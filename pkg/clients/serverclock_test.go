package clients

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The clock differs from the machine's only as far as the dates of the answers say so.
func TestServerClock(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 400_000_000, time.UTC)
	type answer struct {
		sent, answered time.Duration
		date           string
	}
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	tests := map[string]struct {
		answers []answer
		want    time.Duration
	}{
		"no answer":                        {},
		"no date":                          {answers: []answer{{date: ""}}},
		"the clocks agree":                 {answers: []answer{{answered: time.Millisecond, date: at(0)}}},
		"the answer takes long":            {answers: []answer{{answered: 10 * time.Second, date: at(10 * time.Second)}}},
		"it is written early":              {answers: []answer{{answered: 10 * time.Second, date: at(0)}}},
		"the API server is 31 s ahead":     {answers: []answer{{date: at(31 * time.Second)}}, want: 31*time.Second - 400*time.Millisecond},
		"31 s behind":                      {answers: []answer{{date: at(-31 * time.Second)}}, want: -31*time.Second + 600*time.Millisecond},
		"ahead, and the next answer agree": {answers: []answer{{date: at(31 * time.Second)}, {date: at(31 * time.Second)}}, want: 31*time.Second - 400*time.Millisecond},
		"its clock is set":                 {answers: []answer{{date: at(time.Hour)}, {date: at(0)}}, want: 600 * time.Millisecond},
		"ours was set back meanwhile":      {answers: []answer{{answered: -time.Minute, date: at(0)}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &ServerClock{}
			for _, a := range test.answers {
				c.note(now.Add(a.sent), now.Add(a.answered), a.date)
			}
			if got := time.Duration(c.ahead.Load()); got != test.want {
				t.Errorf("%v ahead, want %v", got, test.want)
			}
		})
	}
}

// Two controllers whose clocks differ by an hour agree about the time once the API server has answered both.
func TestControllersAgreeOnTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
	}))
	defer server.Close()
	c := &Contact{}
	client := http.Client{Transport: c.wrap(http.DefaultTransport)}
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if off := time.Until(c.Clock.Now()) - time.Hour; off.Abs() > 2*time.Second {
		t.Errorf("%v off the API server's clock", off)
	}
}
