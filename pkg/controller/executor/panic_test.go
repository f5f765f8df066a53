package executor

import (
	"testing"
)

func TestPanicInARequestIsAnError(t *testing.T) {
	results := InParallel(3, func(i int) PodResult {
		if i == 1 {
			panic("cannot happen")
		}
		return PodResult{}
	})
	if results[0].Err != nil || results[1].Err == nil || results[2].Err != nil {
		t.Errorf("results %v", results)
	}
}
