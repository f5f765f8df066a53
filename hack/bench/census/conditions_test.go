package census

import "testing"

func TestAllUpdated(t *testing.T) {
	done, replaced := AllUpdated(2, newImage), AllReplaced(2, newImage)
	good := PodState{image: newImage, ready: true}
	for name, test := range map[string]struct {
		tally             Tally[PodState]
		updated, replaced bool
	}{
		"done":                    {Tally[PodState]{good: 2}, true, true},
		"one is not ready":        {Tally[PodState]{good: 1, {image: newImage}: 1}, false, false},
		"an old one is going":     {Tally[PodState]{good: 2, {image: oldImage, ending: true}: 1}, false, true},
		"an old one stays":        {Tally[PodState]{good: 2, {image: oldImage, ready: true}: 1}, false, false},
		"one too many":            {Tally[PodState]{good: 3}, false, false},
		"one of them is going":    {Tally[PodState]{good: 1, {image: newImage, ready: true, ending: true}: 1}, false, false},
		"all are still to change": {Tally[PodState]{{image: oldImage, ready: true}: 2}, false, false},
	} {
		if got := done(test.tally); got != test.updated {
			t.Errorf("%s: updated: got %v", name, got)
		}
		if got := replaced(test.tally); got != test.replaced {
			t.Errorf("%s: replaced: got %v", name, got)
		}
	}
}
