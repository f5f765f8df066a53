// Command starve takes a share of each CPU away from all other programs, so that tests can be tried on a slow machine:
//
//	starve -percent 70
//
// It needs no privileges. In each period it computes until it has had its share, with as many threads as it takes to get that much in competition
// with the other programs. It ends with the process that has started it.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	period = 100 * time.Millisecond
	// mostThreads is per CPU. With that many, it gets its share even in competition with dozens of busy threads.
	mostThreads = 40
)

func main() {
	percent := flag.Int("percent", 70, "share of each processor to take, from 1 to 95")
	flag.Parse()
	if *percent < 1 || *percent > 95 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "starve: -percent must be from 1 to 95")
		os.Exit(2)
	}
	processors := runtime.NumCPU()
	share := period * time.Duration(*percent*processors) / 100
	runtime.GOMAXPROCS(processors * mostThreads)
	h := &hog{}
	h.add(processors)
	parent, excess := os.Getppid(), time.Duration(0)
	for os.Getppid() == parent {
		wanted := share - min(share, excess)
		took := h.takeTurn(wanted)
		excess = max(0, excess+took-share) // what waking the threads takes is not part of a turn; the next turns are shorter by it
		// If the threads got less than they wanted, there were too few: add one for each CPU.
		if took < wanted*95/100 && h.threads < processors*mostThreads {
			h.add(processors)
		}
	}
}

// hog computes with several threads at the same time.
type hog struct {
	threads int
	turn    sync.Cond
	mu      sync.Mutex
	// round is the number of the turn. left is the CPU time that remains in it, in nanoseconds.
	round int
	left  atomic.Int64
}

func (h *hog) add(threads int) {
	h.turn.L = &h.mu
	for range threads {
		h.threads++
		go h.work()
	}
}

// takeTurn computes for one period, and returns the CPU time that it got, which may be a little more than wanted.
func (h *hog) takeTurn(wanted time.Duration) time.Duration {
	began, before := time.Now(), cpuTime()
	h.left.Store(int64(wanted))
	h.mu.Lock()
	h.round++
	h.mu.Unlock()
	h.turn.Broadcast()
	time.Sleep(period - time.Since(began)) // its purpose is to let time pass
	h.left.Store(0)
	return cpuTime() - before
}

// work computes in each turn until the turn's CPU time is used up.
func (h *hog) work() {
	runtime.LockOSThread()
	for seen := 0; ; {
		h.mu.Lock()
		for h.round == seen {
			h.turn.Wait()
		}
		seen = h.round
		h.mu.Unlock()
		for h.left.Load() > 0 {
			before := threadTime()
			for sum := 0; sum < 1<<16; sum++ {
				runtime.KeepAlive(sum)
			}
			h.left.Add(-int64(threadTime() - before))
		}
	}
}

func cpuTime() time.Duration    { return usage(syscall.RUSAGE_SELF) }
func threadTime() time.Duration { return usage(1) } // RUSAGE_THREAD, which syscall does not name

func usage(who int) time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(who, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
