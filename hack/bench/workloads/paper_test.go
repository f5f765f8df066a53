package workloads

import (
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/bench/figures"
)

// The costs measured in this process have the usual magnitude. A figure far off means that the measurement is wrong.
func TestPaperCosts(t *testing.T) {
	b := NewBench(Settings{Scale: 0.1}, &figures.Report{}, func(line string) { t.Log(line) })
	if err := b.runPaper(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := *b.report.Paper
	if c.Pod < 500 || c.Pod > 10_000 || c.Manager < 2*c.Pod/10 || c.Manager > 30_000 || c.Revision < 500 || c.Wire < 1000 {
		t.Errorf("sizes: %+v", c)
	}
	if text := b.report.Text(); !strings.Contains(text, "On paper") {
		t.Errorf("the report says nothing of it:\n%s", text)
	}
}
