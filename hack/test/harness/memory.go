package harness

import (
	"runtime"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// WantMemory fails the test if a process has ever used more than limit bytes of memory.
func WantMemory(t *testing.T, p *lab.Process, limit int64) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // Usage is only supported on Linux
	}
	usage, err := p.Usage()
	if err != nil || usage.PeakRSS > limit {
		t.Errorf("the process has taken %d MiB, want at most %d: %v", usage.PeakRSS>>20, limit>>20, err)
	}
	t.Logf("the process has taken %d MiB at most", usage.PeakRSS>>20)
}
