package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
)

const (
	// searchTime is how much CPU time the simulation has to catch a mutant.
	searchTime = time.Minute
	// courseLimit is how many seconds of CPU time a course may take. Few take more than ten; one that takes longer than the limit does not end at all.
	courseLimit = 30

	// simulation is the package whose courses are searched.
	simulation = "hack/sim"
)

// simulate lets the simulations catch mutants, and returns an error if one is not caught.
func simulate(ctx context.Context, names, folder string) error {
	chosen, err := chooseMutants(names, mutants.Mutant.IsSimulated)
	if err != nil {
		return err
	}
	s := &searcher{folder: filepath.Join(folder, "mutants"), known: map[uint64]string{}}
	if s.sound, err = mutants.Sound.BuildTests(ctx, ".", s.folder, simulation); err != nil {
		return err
	}
	var missed []string
	for _, m := range chosen {
		by, took, err := s.hunt(ctx, m)
		if err != nil {
			return err
		}
		if by == "" {
			missed = append(missed, m.Name+" ("+m.About+")")
			by = "NOT caught"
		}
		fmt.Printf("%-20s %4.0f s of CPU  %s\n", m.Name, took.Seconds(), by)
	}
	if len(missed) > 0 {
		return errors.New("no simulation has caught " + strings.Join(missed, "; "))
	}
	return nil
}

// searcher searches for courses that catch mutants.
type searcher struct {
	folder string
	// sound is the simulation of the sound controller. known has its violations by seed: a mutant's violation in the same course proves nothing.
	sound string
	known map[uint64]string
}

// hunt returns what caught a mutant, empty if nothing did, and the CPU time of the search.
func (s *searcher) hunt(ctx context.Context, m mutants.Mutant) (by string, took time.Duration, err error) {
	program, err := m.BuildTests(ctx, ".", s.folder, cmp.Or(m.Package, simulation))
	if err != nil {
		return "", 0, err
	}
	if m.Test != "" {
		return runTests(ctx, m.Package, searchTime, program, "-test.run", "^"+m.Test+"$", "-test.timeout", "0")
	}
	return s.search(ctx, program, m.Seed)
}

// search plays courses with a mutant, starting at a seed, until one has a violation and the sound controller has none in the same course.
func (s *searcher) search(ctx context.Context, program string, seed uint64) (by string, total time.Duration, err error) {
	for ; total < searchTime; seed++ {
		if s.known[seed] != "" {
			continue
		}
		violation, took, err := playCourse(ctx, program, seed)
		if total += took; err != nil {
			return "", total, err
		}
		if violation == "" {
			continue
		}
		if s.known[seed], _, err = playCourse(ctx, s.sound, seed); err != nil {
			return "", total, err
		}
		if s.known[seed] == "" {
			return fmt.Sprintf("seed %d: %s", seed, violation), total, nil
		}
		fmt.Printf("seed %d proves nothing, because the sound controller also has a violation in this course: %s\n", seed, s.known[seed])
	}
	return "", total, nil
}

// playCourse plays the course of one seed.
func playCourse(ctx context.Context, program string, seed uint64) (violation string, took time.Duration, err error) {
	return runTests(ctx, simulation, courseLimit*time.Second, "env", "SIM_TIME=1ms", fmt.Sprint("SIM_SEED=", seed), program, "-test.run", "^TestSearch$", "-test.timeout", "0")
}

// failures match the first message of a failed test.
var failures = []*regexp.Regexp{
	regexp.MustCompile(`(?m)seed \d+: \d+ violations:\n\s*(.*)$`), regexp.MustCompile(`(?m)^(panic: .*)$`), regexp.MustCompile(`(?m)^--- FAIL: (\S+)`),
}

// runTests runs tests in the folder of their package, and returns the failure and the CPU time. The tests run in a separate process with a limit on
// its CPU time.
func runTests(ctx context.Context, path string, limit time.Duration, command ...string) (failure string, took time.Duration, err error) {
	run := exec.CommandContext(ctx, "sh", append([]string{"-c", fmt.Sprintf(`ulimit -t %.0f && exec "$0" "$@"`, limit.Seconds())}, command...)...)
	run.Dir = filepath.FromSlash(path)
	out, err := run.CombinedOutput()
	if run.ProcessState != nil {
		took = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	}
	if err == nil {
		return "", took, nil
	}
	for _, pattern := range failures {
		if found := pattern.FindSubmatch(out); found != nil {
			return string(found[1]), took, nil
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() && ctx.Err() == nil {
		return fmt.Sprintf("the test had not ended after %v of CPU time", limit), took, nil
	}
	return "", took, fmt.Errorf("%v: %w\n%s", command, err, out)
}
