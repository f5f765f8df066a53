package world

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Whatever happens, the planner keeps its promises. Once nothing more happens, it reaches the final state. Scenarios are random: a failure prints
// the seed of its scenario, and PLAN_SEED=<seed> runs it again. Each run has the same scenarios, so that a failure comes from the change at hand.
// PLAN_TIME=10m runs other scenarios for that long. PLAN_SKIP has the names of promises, separated by commas, that are not checked, to search for
// violations other than a known one.
func TestProperties(t *testing.T) {
	if text := os.Getenv("PLAN_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		replay(t, seed)
		return
	}
	first, most, limit := uint64(1), scenarios, time.Duration(math.MaxInt64)
	if testing.Short() {
		most = scenarios / 8
	}
	if text := os.Getenv("PLAN_TIME"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		first, most = rand.Uint64N(1<<40), math.MaxInt
	}
	t.Logf("seeds from %d", first)
	start, done := time.Now(), 0
	for ; done < most && time.Since(start) < limit; done++ {
		if err := play(New(first + uint64(done))); err != nil {
			replay(t, first+uint64(done))
			t.FailNow()
		}
	}
	t.Logf("%d scenarios", done)
}

// replay runs one scenario again, and prints its last steps if it fails.
func replay(t *testing.T, seed uint64) {
	t.Helper()
	var lines []string
	w := New(seed)
	w.Tell = func(format string, args ...any) {
		lines = append(lines, w.Now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
	w.logf("%s, old nodes %v", w.Describe(), w.OldKubelets)
	err := play(w)
	const last = 60
	if len(lines) > last {
		lines = append(lines[:1], lines[len(lines)-last:]...)
	}
	if err != nil {
		t.Errorf("PLAN_SEED=%d: %v\n%s\n%s", seed, err, strings.Join(lines, "\n"), w.Describe())
	}
}

// synced is one sync. Promises are checked after the plan is decided, and again after the status is reported.
type synced struct {
	*World
	observed plan.Observed
	plan     plan.Plan
	failure  *requeue.Failure
	// before is the status before the sync.
	before, status v1.PodManagerStatus
	// hadCurrent is whether a current revision was known before the sync.
	hadCurrent bool
	verdicts   *verdicts
	// unproven is by how many pods the unavailable pods of the new revision exceed the limit, see checkUnproven.
	unproven int
}

// promise is a property that always holds.
type promise struct {
	name string
	// decided is checked before the plan is carried out, reported after the status is known.
	decided, reported func(*synced) error
}

var promises = []promise{
	{name: "trimmed", decided: (*synced).checkTrimmed},
	{name: "names", decided: (*synced).checkNames},
	{name: "surge", decided: (*synced).checkSurge},
	{name: "pace", decided: (*synced).checkPace},
	{name: "history", decided: (*synced).checkHistory},
	{name: "floor", decided: (*synced).checkFloor},
	{name: "resized", decided: (*synced).checkResized},
	{name: "unmanaged", decided: (*synced).checkUnmanaged},
	{name: "drained", decided: (*synced).checkDrained},
	{name: "overlap", decided: (*synced).checkOverlap},
	{name: "unproven", decided: (*synced).countUnproven, reported: (*synced).checkUnproven},
	{name: "same", decided: (*synced).checkSame},
	{name: "made", decided: (*synced).checkMade},
	{name: "left-alone", decided: (*synced).checkLeftAlone},
	{name: "current", reported: (*synced).checkCurrent},
	{name: "counts", reported: (*synced).checkCounts},
	{name: "blame", reported: (*synced).checkBlame},
	{name: "failed", reported: (*synced).checkFailed},
	{name: "named", reported: (*synced).checkNamed},
	{name: "in-time", reported: (*synced).checkInTime},
	{name: "grace", reported: (*synced).checkGrace},
	{name: "ready", reported: (*synced).checkReady},
	{name: "ready-stalled", reported: (*synced).checkReadyStalled},
	{name: "stalled-busy", reported: (*synced).checkStalledBusy},
	{name: "progressing", reported: (*synced).checkProgressing},
	{name: "leaving", decided: (*synced).checkLeaving, reported: (*synced).checkLeavingInTime},
	{name: "leaving-first", decided: (*synced).checkLeavingFirst},
	{name: "leaving-pace", decided: (*synced).checkLeavingPace},
	{name: "age", decided: (*synced).checkAge},
}

var skipped = strings.Split(os.Getenv("PLAN_SKIP"), ",")

func isSkipped(name string) bool { return slices.Contains(skipped, name) }

// sync does the same as a sync of the controller, and checks all promises. It reports whether the plan was not empty or the status changed.
func sync(w *World, v *verdicts) (busy bool, err error) {
	s := &synced{World: w, observed: w.Observe(), before: w.Manager.Status, verdicts: v}
	s.plan = plan.Make(s.observed)
	w.noteRollout(s.plan.Revisions.Update.Hash)
	v.noticePolicy(w)
	w.noteLeaving(s.plan)
	s.hadCurrent = w.currentHash() != ""
	if w.Tell != nil { // describing the pods is slow
		w.logf("pods%s => %s", w.DescribePods(), strings.Join(Digest(s.plan), ", "))
	}
	check := func(choose func(promise) func(*synced) error) error {
		for _, promise := range promises {
			if check := choose(promise); check != nil && !isSkipped(promise.name) {
				if err := check(s); err != nil {
					return fmt.Errorf("%s: %w", promise.name, err)
				}
			}
		}
		return nil
	}
	if err := check(func(p promise) func(*synced) error { return p.decided }); err != nil {
		return false, err
	}
	s.failure = w.Apply(s.plan)
	var changed bool
	s.status, changed = w.Report(s.plan, s.failure)
	w.baking.note(w)
	v.note(w)
	if s.failure == nil || v.active == nil {
		v.active = map[types.UID]bool{}
	}
	for _, p := range w.activePods() {
		v.active[p.UID] = true
	}
	return changed || !s.plan.Empty(), check(func(p promise) func(*synced) error { return p.reported })
}

// play runs a time of trouble, and then calm.
func play(w *World) error {
	v := &verdicts{}
	for range 5 + w.dice.IntN(25) {
		w.Pass()
		if w.chance(0.4) { // otherwise something happens before the next sync
			if _, err := sync(w, v); err != nil {
				return err
			}
		}
		w.Happen()
		if _, err := sync(w, v); err != nil {
			return err
		}
	}
	w.CalmDown()
	if err := runUntilIdle(w, v); err != nil {
		return err
	}
	if !isSkipped("arrival") {
		if err := w.checkFinalState(); err != nil {
			return fmt.Errorf("arrival: %w", err)
		}
	}
	w.pass(time.Hour)
	if busy, err := sync(w, v); busy || err != nil {
		return errors.Join(err, errors.New("an hour later there is something to do"))
	}
	return nil
}

// runUntilIdle syncs until there is nothing left to do, and limits the churn: each pod is replaced at most a few times, for a rollout, for a
// rollback, and for pods that were being replaced before.
func runUntilIdle(w *World, v *verdicts) error {
	w.churn = 0
	most := 6*(len(w.Pods)+w.Manager.DesiredReplicas()+w.Manager.MaxSurge()) + 20
	for rounds := 200 + 40*(len(w.Pods)+w.Manager.DesiredReplicas()); ; rounds-- {
		busy, err := sync(w, v)
		switch {
		case err != nil:
			return err
		case rounds == 0:
			return errors.New("the controller never becomes idle")
		case w.churn > most && !isSkipped("churn"):
			return fmt.Errorf("churn: %d pods were created and deleted in calm, at most %d expected", w.churn, most)
		}
		if moved := w.Settle(); !w.Wait(busy || moved) {
			return nil
		}
	}
}
