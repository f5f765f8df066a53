package serve

import (
	"testing"
	"testing/synctest"
	"time"
)

// An unauthenticated client cannot fill the log, and cannot hide a bug.
func TestSparingLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &sparingLog{name: "test"}
		write := func(line string) {
			if n, err := log.Write([]byte(line)); n != len(line) || err != nil {
				t.Errorf("Write returns %d, %v", n, err)
			}
		}
		complain := func() { write("no\n") }
		for range 100 {
			complain()
		}
		write("http: panic serving 127.0.0.1:1: a bug\n")
		if log.unsaid != 99 {
			t.Errorf("%d errors were not logged, want 99", log.unsaid)
		}
		time.Sleep(sparingEvery)
		if complain(); log.unsaid != 0 {
			t.Errorf("after a minute, %d errors count as not logged, want 0", log.unsaid)
		}
	})
}
