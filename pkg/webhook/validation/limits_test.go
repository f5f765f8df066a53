package validation

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// hanging returns an API server that answers only after a while.
func hanging(takes time.Duration) *api {
	return &api{answer: func(r *http.Request, _ *corev1.Pod) error {
		select {
		case <-time.After(takes):
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}}
}

// warned is the beginning of a response that allows a PodManager whose pod was not tried.
const warned = `"allowed":true,"warnings":["could not check whether the API server would accept the PodManager's pods: `

// If the API server does not answer, an apply is not delayed for longer than the timeout of the call.
func TestDeadline(t *testing.T) {
	tests := map[string]struct {
		query string
		takes time.Duration
	}{
		"as configured":  {"?timeout=5s", 4500 * time.Millisecond},
		"shorter":        {"?timeout=3s", 2500 * time.Millisecond},
		"very short":     {"?timeout=1s", 750 * time.Millisecond},
		"longer":         {"?timeout=30s", 4500 * time.Millisecond},
		"not told":       {"", 4500 * time.Millisecond},
		"not understood": {"?timeout=soon", 4500 * time.Millisecond},
		"negative":       {"?timeout=-1s", 4500 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler, began := handlerWith(t, hanging(time.Hour)), time.Now()
				answer := postTo(handler, "/validate"+test.query, creation(short))
				const want = warned + `the API server has not answered in time"]`
				if took := time.Since(began); took != test.takes || !strings.Contains(answer.Body.String(), want) {
					t.Errorf("answered %s after %v, want %s after %v", answer.Body, took, want, test.takes)
				}
			})
		})
	}
}

// The number of parallel trials is limited. Further reviews wait until their deadlines.
func TestTrialsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hanging(2 * time.Second)
		handler := handlerWith(t, server)
		var mu sync.Mutex
		outcomes := map[string]int{}
		var calls sync.WaitGroup
		call := func(count int, query string) {
			for range count {
				calls.Go(func() {
					answer := postTo(handler, "/validate"+query, creation(short)).Body.String()
					mu.Lock()
					defer mu.Unlock()
					outcomes[answer[strings.Index(answer, `"allowed"`):]]++
				})
			}
			synctest.Wait()
		}
		call(2*maxTrials, "?timeout=5s")
		call(5, "?timeout=4s") // these come last, and time out before their turn
		for round := range 2 {
			if got := server.asked(); got != (round+1)*maxTrials {
				t.Errorf("%d pods were tried by round %d", got, round)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		calls.Wait()
		const refused = warned + crowded + `"]}}`
		if outcomes[`"allowed":true}}`] != 2*maxTrials || outcomes[refused] != 5 || server.asked() != 2*maxTrials {
			t.Errorf("the answers are %v, after %d trials", outcomes, server.asked())
		}
		if len(handler.turns) > 0 {
			t.Errorf("%d turns are still taken", len(handler.turns))
		}
	})
}

// Objects are processed as long as their total size is below the limit.
func TestObjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = maxObjects/2 - 1000
		server := hanging(time.Second)
		handler := handlerWith(t, server)
		large := creation(`{"template":{"spec":{"containers":[{"name":"a","args":["` + strings.Repeat("a", size) + `"]}]}}}`)
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() { post(handler, large) })
		}
		synctest.Wait()
		if answer := post(handler, large).Body.String(); !strings.Contains(answer, warned+crowded) {
			t.Errorf("answered %s", answer)
		}
		calls.Wait()
		if server.asked() != 2 || handler.looking.Load() != 0 {
			t.Errorf("%d pods were tried, want 2; %d bytes are still counted, want none", server.asked(), handler.looking.Load())
		}
	})
}

// If the caller disconnects, the trial is cancelled.
func TestCallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &api{}
		ended := errors.New("not ended")
		server.answer = func(r *http.Request, _ *corev1.Pod) error {
			<-r.Context().Done()
			ended = r.Context().Err()
			return ended
		}
		began := time.Now()
		connection, closing := httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(creation(short))), 100*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), closing)
		defer cancel()
		connection.Header.Set("Content-Type", "application/json")
		handlerWith(t, server).ServeHTTP(httptest.NewRecorder(), connection.WithContext(ctx))
		if took := time.Since(began); took != closing || ended == nil {
			t.Errorf("the trial ended after %v: %v", took, ended)
		}
	})
}
