package sim

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

func TestMain(m *testing.M) {
	// The handlers of client-go write to standard error, and sleep while they hold a lock that all bubbles share.
	utilruntime.ErrorHandlers = nil //nolint:reassign // there is no other way
	debug.SetGCPercent(400)
	runtime.GOMAXPROCS(1) // so that a seed comes out alike
	os.Exit(m.Run())
}

const crd = "../../artifacts/crd.yaml"

// play plays the course of a seed, and returns what was violated and the story.
func play(t *testing.T, seed uint64, course Course, live io.Writer) (violations []string, told *story) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(seed, crd, live)
		if err != nil {
			t.Fatal(err)
		}
		violations = c.Play(course)
		told = c.story
	})
	return violations, told
}

// trouble is the course in which violations are searched for.
var trouble = Course{Users: 5, Length: 10 * time.Minute}

// fair is a course in which only users are at work.
var fair = Course{Users: 4, Length: 3 * time.Minute, Fair: true}

// Without faults nothing goes wrong, whatever users do.
func TestFairCourses(t *testing.T) {
	for seed := range fairCourses {
		violations, told := play(t, seed, fair, nil)
		if len(violations) > 0 {
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(violations, "\n"), strings.Join(told.lines, "\n"))
		}
	}
}

// TestSearch plays course after course for SIM_TIME, and prints what was violated first in each.
func TestSearch(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SIM_TIME"))
	if err != nil {
		t.Skip("SIM_TIME is not given")
	}
	first, _ := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64)
	began, played := time.Now(), 0
	for seed := max(1, first); time.Since(began) < length; seed++ {
		violations, _ := play(t, seed, trouble, nil)
		if played++; len(violations) > 0 {
			t.Errorf("after %v, seed %d: %d violations, the first: %s", time.Since(began).Round(time.Second), seed, len(violations), violations[0])
		}
	}
	t.Logf("%d courses of %v", played, trouble.Length)
}

// TestSeed plays one course and tells it.
func TestSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64)
	if err != nil {
		t.Skip("SIM_SEED is not given")
	}
	course := trouble
	if os.Getenv("SIM_FAIR") != "" {
		course = fair
	}
	violations, told := play(t, seed, course, os.Stderr)
	t.Logf("fingerprint %x", told.fingerprint())
	for _, violation := range violations {
		t.Error(violation)
	}
}
