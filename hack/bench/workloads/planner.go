package workloads

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/mycompany/podmanager/hack/bench/figures"
)

// runPlanner runs the benchmarks of pkg/plan, which need no cluster.
func (b *Bench) runPlanner(ctx context.Context) error {
	long := "0.5s"
	if b.settings.Scale < 0.2 {
		long = "1ms"
	}
	arguments := []string{"test", "-run", "^$", "-bench", "^BenchmarkMake$", "-benchmem", "-benchtime", long,
		"-count", strconv.Itoa(b.settings.Rounds), "./pkg/plan"}
	out, err := exec.CommandContext(ctx, "go", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	found := parseBenchmarks(string(out))
	if len(found) == 0 {
		return fmt.Errorf("go %s measured nothing:\n%s", strings.Join(arguments, " "), out)
	}
	for _, benchmark := range found {
		b.report.Results.Add(figures.Planning+benchmark.name, benchmark.name, figures.Ours, figures.Sample{Values: benchmark.values})
	}
	took, _ := b.report.Results.Median(figures.SteadyThousand, figures.Ours, figures.PlanMillis)
	b.say("  the planner takes %.2f ms for 1000 pods at rest", took)
	return nil
}

type benchmark struct {
	name   string
	values figures.Values
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\w+/(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+(\d+) B/op\s+(\d+) allocs/op`)

// parseBenchmarks parses the output of go test.
func parseBenchmarks(out string) []benchmark {
	var found []benchmark
	for _, match := range benchmarkLine.FindAllStringSubmatch(out, -1) {
		values := figures.Values{}
		for i, m := range []figures.Metric{figures.PlanMillis, figures.PlanBytes, figures.PlanAllocs} {
			values[m], _ = strconv.ParseFloat(match[i+2], 64) // the expression matches only numbers
		}
		values[figures.PlanMillis] /= 1e6
		found = append(found, benchmark{name: match[1], values: values})
	}
	return found
}
