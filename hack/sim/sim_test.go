//go:debug randseednop=0

package sim

import (
	"fmt"
	"io"
	"math/rand"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/mycompany/podmanager/hack/sim/luck"
)

func TestMain(m *testing.M) {
	// The error handlers of client-go write to standard error, and sleep while holding a lock that all bubbles share.
	utilruntime.ErrorHandlers = nil //nolint:reassign // there is no other way
	// The garbage collector changes the order of goroutines. The controller sets GOGC unless the user does.
	_ = os.Setenv("GOGC", "off")
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(2 << 30)
	luck.Undisturbed()
	runtime.MemProfileRate = 0 //nolint:reassign // memory profiling draws random numbers
	runtime.GOMAXPROCS(1)      // so that a seed always gives the same course
	os.Exit(m.Run())
}

const crd = "../../artifacts/crd.yaml"

// play plays the course of a seed, and returns the cluster and the violations.
func play(t *testing.T, seed uint64, course Course, live io.Writer) (c *Cluster, violations []string) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed) // for the names of processes
	for range 2 {
		runtime.GC() // it does not run during a course; the second run empties the victim caches of sync.Pool
	}
	synctest.Test(t, func(t *testing.T) {
		luck.Seed(seed)
		rand.Seed(int64(seed)) //nolint:staticcheck // client-go draws from it, which must not depend on what was drawn before
		var err error
		if c, err = New(seed, crd, live); err != nil {
			t.Fatal(err)
		}
		violations = c.Play(course)
	})
	return c, violations
}

// check plays the course of a seed, and reports the violations and what led to them.
func check(t *testing.T, seed uint64, course Course) {
	t.Helper()
	c, violations := play(t, seed, course, nil)
	if len(violations) == 0 {
		return
	}
	again := fmt.Sprintf("SIM_SEED=%d", seed)
	if course.Fair {
		again += " SIM_FAIR=1"
	}
	t.Errorf("seed %d: %d violations:\n%s\n\nwhat led to the first:\n%s\n\nall of it: %s go test ./hack/sim -run TestSeed -v", seed, len(violations),
		strings.Join(violations[:min(len(violations), 8)], "\n"), strings.Join(c.story.leadingTo(violations[0], c.users), "\n"), again)
}

// trouble is the course with faults that the search for violations plays.
var trouble = Course{Users: 4, Length: 8 * time.Minute}

// fair is a course in which only users act.
var fair = Course{Users: 4, Length: 3 * time.Minute, Fair: true}

// Without faults there are no violations, whatever users do.
func TestFairCourses(t *testing.T) {
	for seed := range courses(3) {
		check(t, seed, fair)
	}
}

const (
	// goal is how much CPU time the course of TestSpeed should take. Most of what it takes is spent in the controller and client-go.
	goal = time.Second
	// slowest is what it may take. A busy machine makes it take two or three times as long as a quiet one.
	slowest = 12 * time.Second
)

// TestSpeed measures how long ten minutes with 20 PodManagers take, each of which is edited about once a minute. It fails only if the simulation has
// become much slower.
func TestSpeed(t *testing.T) {
	if isRaced || testing.Short() {
		t.Skip("the race detector makes this test too slow")
	}
	course := Course{Users: 20, Length: 10 * time.Minute, Fair: true}
	runtime.GC() // so that the memory of earlier tests is used again
	began := cpuTime(t)
	synctest.Test(t, func(t *testing.T) {
		c, err := New(2, crd, nil)
		if err == nil {
			err = c.createNamespaces()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.settings = settings{replicas: 2, elects: true}
		for i := range c.settings.replicas {
			c.supervise(i)
		}
		for i := range course.Users {
			c.users = append(c.users, c.newUser(i))
		}
		c.troubled(course)
		t.Logf("%d writes", c.server.Version())
		c.Close()
	})
	took := cpuTime(t) - began
	t.Logf("%v with %d PodManagers take %.2f s of one core; the goal is %v", course.Length, course.Users, took.Seconds(), goal)
	if took > slowest {
		t.Errorf("%v with %d PodManagers take %v of one core", course.Length, course.Users, took)
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fixedCourses is the number of courses with faults that TestFixedCourses plays. They take about 30 s on one core.
const fixedCourses = 10

// TestFixedCourses plays the same courses with faults every time.
func TestFixedCourses(t *testing.T) {
	if isRaced {
		t.Skip("the race detector makes this test too slow")
	}
	for seed := range courses(fixedCourses) {
		check(t, seed+1, trouble)
	}
}

// courses returns how many of the seeds of a test are played.
func courses(all uint64) uint64 {
	if testing.Short() {
		return 1
	}
	return all
}

// TestSearch plays courses for SIM_TIME, and prints the violations of each and what led to them.
func TestSearch(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SIM_TIME"))
	if err != nil {
		t.Skip("SIM_TIME is not given")
	}
	first, _ := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64)
	began, played := time.Now(), 0
	for seed := max(1, first); time.Since(began) < length; seed++ {
		check(t, seed, trouble)
		played++
	}
	t.Logf("%d courses of %v", played, trouble.Length)
}

// TestSeed plays one course and prints its story.
func TestSeed(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64)
	if err != nil {
		t.Skip("SIM_SEED is not given")
	}
	course := trouble
	if os.Getenv("SIM_FAIR") != "" {
		course = fair
	}
	c, violations := play(t, seed, course, os.Stderr)
	t.Logf("fingerprint %x", c.story.fingerprint())
	for _, violation := range violations {
		t.Error(violation)
	}
}
