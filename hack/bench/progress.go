package main

import (
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/bench/workloads"
)

// progress shows the user what is running, and how much longer it will take.
type progress struct {
	start time.Time
	scale float64
	// left and done are the estimates for the remaining and the completed rounds. took is how long the completed ones really took.
	left, done, took time.Duration
	began            time.Time
}

// setUpTime is the minimum time of a round, however small it is.
const setUpTime = 15 * time.Second

func newProgress(chosen []workloads.Workload, o options) *progress {
	p := &progress{start: time.Now(), scale: o.Scale}
	for _, w := range chosen {
		rounds := o.Rounds
		if w.Once {
			rounds = 1
		}
		p.left += time.Duration(rounds) * p.estimate(w)
	}
	return p
}

func (p *progress) estimate(w workloads.Workload) time.Duration {
	return setUpTime + time.Duration(p.scale*float64(w.Estimate))
}

func (p *progress) say(format string, args ...any) { p.print(fmt.Sprintf(format, args...)) }

// print prints a line with the time since the start.
func (p *progress) print(line string) { fmt.Printf("%7s  %s\n", clock(time.Since(p.start)), line) }

// clock formats a duration like a stopwatch.
func clock(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

func (p *progress) begin(w workloads.Workload, round, rounds int) {
	p.began = time.Now()
	turn := ""
	if rounds > 1 {
		turn = fmt.Sprintf(", round %d of %d", round+1, rounds)
	}
	p.say("%s%s; about %s left", w.Name, turn, clock(p.remaining()))
}

func (p *progress) end(w workloads.Workload) {
	p.left -= p.estimate(w)
	p.done += p.estimate(w)
	p.took += time.Since(p.began)
}

// skip removes rounds that cannot be measured from the estimate.
func (p *progress) skip(w workloads.Workload, rounds int) {
	p.left -= time.Duration(rounds) * p.estimate(w)
}

// remaining returns the remaining time, with the estimates corrected by how long the completed rounds took.
func (p *progress) remaining() time.Duration {
	if p.done == 0 {
		return p.left
	}
	return time.Duration(float64(p.left) * p.took.Seconds() / p.done.Seconds())
}
