package plan

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

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Whatever happens, the planner keeps its promises; and once nothing more happens, it arrives. Scenarios are random: a
// failure prints the seed of its scenario, and PLAN_SEED=<seed> plays it again. They are the same ones every time, so that
// this test is about the change at hand; PLAN_TIME=10m searches for that long among others.
func TestProperties(t *testing.T) {
	if text := os.Getenv("PLAN_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		replay(t, seed)
		return
	}
	first, most, limit := uint64(1), 3000, 5*time.Second
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
		if err := scenario(newWorld(first + uint64(done))); err != nil {
			replay(t, first+uint64(done))
			t.FailNow()
		}
	}
	t.Logf("%d scenarios", done)
}

// replay plays one scenario again, and prints how it ended.
func replay(t *testing.T, seed uint64) {
	t.Helper()
	var lines []string
	w := newWorld(seed)
	w.tell = func(format string, args ...any) {
		lines = append(lines, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
	w.say("%s", describeSpec(w.manager))
	err := scenario(w)
	const last = 60
	if len(lines) > last {
		lines = append(lines[:1], lines[len(lines)-last:]...)
	}
	if err != nil {
		t.Errorf("PLAN_SEED=%d: %v\n%s", seed, err, strings.Join(lines, "\n"))
	}
}

// scenario is a time of trouble, and then calm.
func scenario(w *world) error {
	check := func(o Observed, plan Plan) error {
		err := errors.Join(w.checkNames(plan), w.checkSurge(o, plan), w.checkFloor(o, plan), w.checkOverlap(o, plan), w.checkUnproven(o, plan), w.checkBlame(o, plan))
		if err == nil && w.chance(0.2) {
			err = w.checkSame(o, plan)
		}
		return err
	}
	for range 5 + w.IntN(25) {
		w.happen()
		if _, err := w.sync(check); err != nil {
			return err
		}
	}
	w.calm = true
	w.say("calm")
	for rounds := 200 + 40*(len(w.pods)+w.manager.DesiredReplicas()); ; rounds-- {
		busy, err := w.sync(check)
		if err != nil {
			return err
		}
		if rounds == 0 {
			return errors.New("does not come to rest")
		}
		moved := w.settle()
		if busy || moved {
			w.now = w.now.Add(time.Duration(w.IntN(3000)) * time.Millisecond)
			continue
		}
		if w.again.Never() {
			break
		}
		if w.again.At.After(w.now) {
			w.now = w.again.At
		}
	}
	if err := w.checkArrived(); err != nil {
		return err
	}
	w.now = w.now.Add(time.Hour)
	if busy, err := w.sync(check); busy || err != nil {
		return errors.Join(err, errors.New("an hour later there is something to do"))
	}
	return nil
}

// settle lets the nodes do some of what is left for them to do, and tells whether there was any.
func (w *world) settle() bool {
	moved := false
	for _, p := range slices.Clone(w.pods) {
		if step := w.next(p); step != nil {
			moved = true
			if w.chance(0.7) {
				step()
			}
		}
	}
	return moved
}

// describe is a plan, and the pods that it is about, in one line. A pod has its index, its revision, and "!" if it is not
// available, "~" if it is ending, "+" if it has ended, "?" if it has failed, "*" if it is marked, "|" if it is drained.
func describe(w *world, plan Plan) string {
	var text strings.Builder
	fmt.Fprintf(&text, "pods")
	for _, p := range w.pods {
		fmt.Fprintf(&text, " %s:%s", strings.TrimPrefix(p.Name, w.manager.Name+"-"), p.Labels[v1.LabelRevision])
		for i, set := range []bool{
			!w.isServing(p), p.DeletionTimestamp != nil, hasEnded(p), hasFailed(p), isMarked(p), isDrained(p),
		} {
			if set {
				text.WriteByte("!~+?*|"[i])
			}
		}
	}
	text.WriteString(" => ")
	text.WriteString(strings.Join(digest(plan), ", "))
	return text.String()
}

func describeSpec(m *v1.PodManager) string {
	limits := m.Spec.UpdateStrategy.RollingUpdate
	text := fmt.Sprintf("%d replicas, %s, surge %d unavailable %d partition %d, %s, minReady %d, %s, paused %v, %+v, current %s",
		m.DesiredReplicas(), m.Strategy(), m.MaxSurge(), m.MaxUnavailable(), m.Partition(), m.PodUpdatePolicy(), m.Spec.MinReadySeconds,
		m.OnFailure(), m.Spec.Paused, m.Spec.PodReplacementPolicy, m.Status.CurrentRevision)
	if limits != nil {
		text += fmt.Sprintf(", grace %d", limits.InPlaceGracePeriodSeconds)
	}
	return text
}

// digest is a plan as text, in its own order.
func digest(plan Plan) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, c := range plan.Create {
		add("create %d %s %d", c.Index, c.Revision.Hash, c.FailuresBefore)
	}
	for _, d := range plan.Delete {
		add("delete %s: %s", d.Pod.Name, d.Why)
	}
	for _, c := range plan.Change {
		to := ""
		if c.To != nil {
			to = c.To.Hash
		}
		add("%s %s %s", c.Step, c.Pod.Name, to)
	}
	for _, p := range plan.Adopt {
		add("adopt %s", p.Name)
	}
	for _, p := range plan.Release {
		add("release %s", p.Name)
	}
	for _, r := range plan.Drop {
		add("drop %s", r.Name)
	}
	for _, s := range plan.Store {
		add("store %s %d", s.Revision.Name, s.Revision.Revision)
	}
	if plan.Waiting != nil {
		add("waiting for %s", plan.Waiting.Pod.Name)
	}
	if plan.Held != nil {
		add("held")
	}
	if !plan.Again.Never() {
		add("again at %v because %s", plan.Again.At, plan.Again.Why)
	}
	return append(lines, plan.Foreign...)
}
