package serve

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// guardTest holds a Guard under test.
type guardTest struct {
	t        *testing.T
	reviewer *reviewer
	guard    *Guard
	tried    int
}

func newGuardTest(t *testing.T) *guardTest {
	reviewer := newReviewer()
	return &guardTest{t: t, reviewer: reviewer, guard: NewGuard(reviewer.client)}
}

// tryToken sends a new invalid token.
func (g *guardTest) tryToken() {
	g.t.Helper()
	g.tried++
	if answer, _ := get(g.guard, "GET", MetricsPath, fmt.Sprintf("Bearer nonsense-%d", g.tried)); answer.Code != 401 && answer.Code != 429 {
		g.t.Fatalf("a request with an invalid token got %d, want 401 or 429", answer.Code)
	}
}

func (g *guardTest) expectScrape(when string, code int) {
	g.t.Helper()
	if answer, _ := get(g.guard, "GET", MetricsPath, "Bearer token-prometheus"); answer.Code != code {
		g.t.Fatalf("%s: a scrape got %d %s, want %d", when, answer.Code, answer.Body, code)
	}
}

// A client with random tokens can load the API server only up to a limit, and does not block authorized users, however long it continues.
func TestStrangersDoNotBlindMonitoring(t *testing.T) {
	const perSecond = 2 * reviewQPS
	synctest.Test(t, func(t *testing.T) {
		g := newGuardTest(t)
		started := time.Now()
		for time.Since(started) < 3*allowedFor+overdueFor {
			g.expectScrape(fmt.Sprintf("after %v", time.Since(started)), 200)
			for range perSecond {
				g.tryToken()
				time.Sleep(time.Second / perSecond)
			}
		}
		if most := reviewQPS*int(time.Since(started).Seconds()) + 2*reviewBurst; g.reviewer.asked > most {
			t.Errorf("the API server was asked %d times in %v, want at most %d", g.reviewer.asked, time.Since(started), most)
		}
		g.reviewer.revoked = "token-prometheus"
		for range int(allowedFor.Seconds()) * perSecond {
			g.tryToken()
			time.Sleep(time.Second / perSecond)
		}
		g.expectScrape("revoked", 401)
		g.expectScrape("still revoked", 401)
	})
}

// An expired allow stays valid for a while if the Guard may not ask, but not if it asks and the API server does not answer.
func TestOverdueRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuardTest(t)
		g.expectScrape("first", 200)
		unlimited := g.guard.renewals
		g.guard.renewals = flowcontrol.NewFakeNeverRateLimiter()
		time.Sleep(allowedFor)
		g.expectScrape("at the limit of renewals", 200)
		g.reviewer.down = "tokenreviews"
		g.guard.renewals = unlimited
		g.expectScrape("API server away", 503)
		g.guard.renewals = flowcontrol.NewFakeNeverRateLimiter()
		time.Sleep(overdueFor - time.Second)
		g.expectScrape("almost a minute later", 200)
		time.Sleep(time.Second)
		g.expectScrape("a minute later", 429)
		g.reviewer.down, g.reviewer.revoked, g.guard.renewals = "", "token-prometheus", unlimited
		g.expectScrape("revoked", 401)
		g.guard.renewals = flowcontrol.NewFakeNeverRateLimiter()
		g.expectScrape("revoked, at the limit", 401)
	})
}

// Many tokens do not use up memory, and unknown tokens do not evict allowed ones.
func TestGuardIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuardTest(t)
		g.expectScrape("first", 200)
		for range 2*maxVerdicts + 1 {
			g.tryToken()
			time.Sleep(time.Second / reviewQPS)
		}
		if len(g.guard.refused) != maxVerdicts || len(g.guard.allowed) != 1 {
			t.Errorf("%d refusals and %d allows are kept, want %d and 1", len(g.guard.refused), len(g.guard.allowed), maxVerdicts)
		}
		g.expectScrape("after many strangers", 200)
		first, last := question{path: "0"}, question{path: fmt.Sprint(maxVerdicts)}
		for i := range maxVerdicts + 1 {
			g.guard.keep(question{path: fmt.Sprint(i)}, verdict{code: 200, until: time.Now().Add(time.Hour + time.Duration(i))})
		}
		if _, isKept := g.guard.allowed[last]; !isKept || len(g.guard.allowed) != maxVerdicts {
			t.Errorf("%d allows are kept, the last one: %t", len(g.guard.allowed), isKept)
		}
		if _, isKept := g.guard.allowed[first]; isKept {
			t.Error("the oldest allow was not evicted")
		}
	})
}
