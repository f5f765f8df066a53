package serve

import (
	"testing"
	"testing/synctest"
	"time"
)

// A stranger cannot fill the log.
func TestSparingLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &sparingLog{name: "test"}
		complain := func() {
			if n, err := log.Write([]byte("no\n")); n != 3 || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
		}
		for range 100 {
			complain()
		}
		if log.unsaid != 99 {
			t.Errorf("%d complaints were kept back, want all but one", log.unsaid)
		}
		time.Sleep(sparingEvery)
		if complain(); log.unsaid != 0 {
			t.Errorf("after a minute %d complaints are kept back", log.unsaid)
		}
	})
}
