package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// playSample runs mutants by rule against the unit tests, and returns how many there are and how many are caught. Only the tests of packages that
// reach a mutant's site are run, the quickest first, until one fails.
func (h hunt) playSample(ctx context.Context, pattern *regexp.Regexp, most int, seed uint64) (played, count int, err error) {
	all, err := sites(h.root, seed)
	if err != nil || most == 0 {
		return 0, 0, err
	}
	all = slices.DeleteFunc(all, func(s site) bool { return !pattern.MatchString(s.String()) })
	s, err := h.build(ctx, all, most)
	if err != nil {
		return 0, 0, err
	}
	fmt.Printf("%d of %d mutants by rule, seed %d:\n", len(s.mutants), len(all), seed)
	for _, p := range s.programs {
		if err := h.measure(ctx, p); err != nil {
			return 0, 0, err
		}
	}
	slices.SortFunc(s.programs, func(a, b *program) int { return cmp.Compare(a.takes, b.takes) })
	for _, each := range s.mutants {
		isCaught, isReached, err := s.play(ctx, each)
		if err != nil {
			return played, count, err
		}
		switch played++; {
		case isCaught:
			count++
		case isReached:
			fmt.Println("survived", each)
		default:
			fmt.Println("survived", each, "(no test reaches it)")
		}
		if played%50 == 0 {
			fmt.Printf("%d played, %d caught\n", played, count)
		}
	}
	return played, count, nil
}

// measure runs a program without a mutant.
func (h hunt) measure(ctx context.Context, p *program) error {
	hits := filepath.Join(h.folder, "hits")
	began := time.Now()
	if out, err := p.run(ctx, maxTime, "MUTANT_HITS="+hits); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", p.path, err, out)
	}
	p.takes, p.reached = time.Since(began), map[int]bool{}
	data, err := os.ReadFile(hits)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if number, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			p.reached[number] = true
		}
	}
	fmt.Printf("%s: %.1f s, reaches %d\n", filepath.Base(p.path), p.takes.Seconds(), len(p.reached))
	return os.RemoveAll(hits)
}

// play runs the tests that reach a mutant's site, until one fails. Tests that take much longer than without the mutant have failed.
func (s *sample) play(ctx context.Context, mutant numbered) (isCaught, isReached bool, err error) {
	for _, p := range s.programs {
		if !p.reached[mutant.number] {
			continue
		}
		isReached = true
		_, failure := p.run(ctx, 20*time.Second+10*p.takes, "MUTANT="+strconv.Itoa(mutant.number))
		switch {
		case ctx.Err() != nil:
			return false, true, ctx.Err()
		case failure != nil:
			return true, true, nil //nolint:nilerr // a failure of the tests is what a mutant is for
		}
	}
	return false, isReached, nil
}

// run runs the tests of a program. A mutant may never end, or need memory without end.
func (p *program) run(ctx context.Context, limit time.Duration, environment string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	test := exec.CommandContext(limited, "sh", "-c", `ulimit -v 6000000; exec "$0" -test.short -test.failfast`, p.path)
	test.Dir = p.dir
	test.Env = append(os.Environ(), environment)
	test.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := test.CombinedOutput()
	return string(out), err
}
