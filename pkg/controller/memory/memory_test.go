package memory

import (
	"testing"
	"time"
)

func TestSlowStartGrowsAndEnds(t *testing.T) {
	now := time.Now()
	var m Memory
	if got := m.SlowStartSize(now); got != 1 {
		t.Errorf("%d at first", got)
	}
	m.NoteCreates(500, true, now)
	if got := m.SlowStartSize(now.Add(recentFor)); got != 501 {
		t.Errorf("%d after 500 went well", got)
	}
	if got := m.SlowStartSize(now.Add(recentFor + 1)); got != 1 {
		t.Errorf("%d after a while", got)
	}
	m.NoteCreates(500, true, now)
	m.NoteCreates(3, false, now)
	if got := m.SlowStartSize(now); got != 1 {
		t.Errorf("%d after a failure", got)
	}
}
