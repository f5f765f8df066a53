package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
)

// maxTime limits one run of tests, because a mutant may never end.
const maxTime = 5 * time.Minute

// leastCaught is the percentage of the sample that has to be caught.
const leastCaught = 85

func main() {
	names := flag.String("only", ".*", "a pattern for the names of mutants of the table; ^$ for none")
	sample := flag.Int("sample", 300, "how many mutants by rule to play")
	seed := flag.Uint64("seed", 1, "chooses the sample")
	rules := flag.String("rules", "", "a pattern for mutants by rule as they are printed, such as budget.go:105; empty for all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *names, *rules, *sample, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run runs the mutants of the table and of the sample, and returns an error if too many survive.
func run(ctx context.Context, names, rules string, sample int, seed uint64) error {
	pattern, err := regexp.Compile(names)
	if err != nil {
		return err
	}
	ofRules, err := regexp.Compile(rules)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	h := hunt{root: ".", folder: folder}
	survivors, err := h.playTable(ctx, pattern)
	if err != nil {
		return err
	}
	played, caught, err := h.playSample(ctx, ofRules, sample, seed)
	if played > 0 {
		fmt.Printf("%d of %d mutants by rule caught, %d %%\n", caught, played, 100*caught/played)
	}
	switch {
	case err != nil:
		return err
	case survivors > 0:
		return fmt.Errorf("%d mutants of the table survive", survivors)
	case caught*100 < played*leastCaught:
		return fmt.Errorf("%d of %d mutants by rule are caught, fewer than %d %%", caught, played, leastCaught)
	default:
		return nil
	}
}

// hunt builds mutants of the repository in root, in folder.
type hunt struct{ root, folder string }

// playTable runs the hand-written mutants, and counts the survivors.
func (h hunt) playTable(ctx context.Context, pattern *regexp.Regexp) (survivors int, err error) {
	for _, entry := range table {
		if !pattern.MatchString(entry.name) {
			continue
		}
		began := time.Now()
		result, err := h.play(ctx, mutants.Replaced(entry.name, entry.file, entry.before, entry.after), entry.tests())
		if err != nil {
			return survivors, err
		}
		if result != caught {
			survivors++
		}
		fmt.Printf("%-8s by %-5s %4.0f s  %s: %s\n", result, entry.by, time.Since(began).Seconds(), entry.name, entry.about)
	}
	return survivors, nil
}

// result is the outcome for a mutant.
type result string

const (
	caught   result = "caught"
	survived result = "SURVIVED"
	// invalid: the mutant does not compile.
	invalid result = "invalid"
)

// tests returns the packages whose tests have to catch a mutant of the table. Its own package and those above it catch most, so they come first.
func (e entry) tests() []string {
	if e.by == byWorld {
		return []string{"pkg/world"}
	}
	return slices.Compact([]string{planner, path.Dir(e.file), planner + "/status", planner + "/rollout", planner + "/..."})
}

// play runs the tests of packages against a mutant, one after the other, until one fails.
func (h hunt) play(ctx context.Context, mutant mutants.Mutant, packages []string) (result, error) {
	overlay, err := mutant.Overlay(h.root, filepath.Join(h.folder, mutant.Name))
	if err != nil {
		return "", err
	}
	for _, each := range packages {
		limited, cancel := context.WithTimeout(ctx, maxTime)
		test := exec.CommandContext(limited, "go", "test", "-overlay", overlay, "-vet=off", "-failfast", "-count=1", "./"+each)
		test.Dir = h.root
		// An interrupt has to go to the whole process group to reach the programs that the go command has started.
		test.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		test.Cancel = func() error { return syscall.Kill(-test.Process.Pid, syscall.SIGKILL) }
		out, err := test.CombinedOutput()
		cancel()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return "", ctx.Err()
		case strings.Contains(string(out), "[build failed]"):
			return invalid, nil
		default:
			return caught, nil
		}
	}
	return survived, nil
}
