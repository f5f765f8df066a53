package consistency

import (
	"math/big"
	"testing"
	"time"
)

// resourceVersions come from the API server. IsNewer orders each pair in at most one direction, and compares numbers numerically, however
// long they are.
func FuzzIsNewer(f *testing.F) {
	f.Add("9", "10", "11")
	f.Add("", "1", "0")
	f.Add("007", "7", "x7")
	f.Add("18446744073709551615", "18446744073709551616", "99999999999999999999999999999999")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if IsNewer(a, a) {
			t.Errorf("%q is newer than itself", a)
		}
		if IsNewer(a, b) && IsNewer(b, a) {
			t.Errorf("%q and %q are each newer than the other", a, b)
		}
		if IsNewer(a, b) && IsNewer(b, c) && !IsNewer(a, c) {
			t.Errorf("%q is newer than %q, which is newer than %q, but the first is not newer than the last", a, b, c)
		}
		numberA, isNumberA := version(a)
		numberB, isNumberB := version(b)
		if isNumberA && isNumberB && IsNewer(a, b) != (numberA.Cmp(numberB) > 0) {
			t.Errorf("IsNewer(%q, %q) is %v, contrary to the numbers", a, b, IsNewer(a, b))
		}
		if b != "" && !(isNumberA && isNumberB) && IsNewer(a, b) {
			t.Errorf("%q is newer than %q, although the two cannot be compared", a, b)
		}
		checkTracker(t, a, b, c)
	})
}

// version parses a resourceVersion. It returns false if an API server would not return such a resourceVersion.
func version(text string) (*big.Int, bool) {
	for _, r := range text {
		if r < '0' || r > '9' {
			return nil, false
		}
	}
	number, ok := new(big.Int).SetString(text, 10)
	return number, ok && text[0] != '0'
}

// checkTracker checks that a store that has seen the newest write is never behind, and that a store that has seen nothing always is.
func checkTracker(t *testing.T, writes ...string) {
	t.Helper()
	tracker, now := &Tracker{}, time.Unix(1, 0)
	newest := ""
	for _, write := range writes {
		if _, ok := version(write); !ok {
			return
		}
		tracker.Saw("pods", write, now)
		if IsNewer(write, newest) {
			newest = write
		}
	}
	if _, behind := tracker.Behind(map[Resource]string{}, now); !behind {
		t.Errorf("a store that has seen nothing is not behind the writes %q", writes)
	}
	if wait, behind := tracker.Behind(map[Resource]string{"pods": newest}, now); behind || tracker.Waiting() {
		t.Errorf("a store that has seen %q is still behind the writes %q, for %v", newest, writes, wait)
	}
}
