package memory

import (
	"testing"
	"time"
)

func TestSlowStartGrowsAndEnds(t *testing.T) {
	now := time.Now()
	var m Memory
	if got := m.TrustIn(now); got != 1 {
		t.Errorf("%d at first", got)
	}
	m.Trust(500, true, now)
	if got := m.TrustIn(now.Add(recentFor)); got != 501 {
		t.Errorf("%d after 500 went well", got)
	}
	if got := m.TrustIn(now.Add(recentFor + 1)); got != 1 {
		t.Errorf("%d after a while", got)
	}
	m.Trust(500, true, now)
	m.Trust(3, false, now)
	if got := m.TrustIn(now); got != 1 {
		t.Errorf("%d after a failure", got)
	}
}
