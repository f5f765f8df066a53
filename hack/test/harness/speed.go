package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// speed measures how much slower this machine currently is than the one on which the limits of the tests were chosen. It times a small write to the
// API server, which takes longer for any shortage: of cores, because other programs use them, or of disk throughput.
type speed struct {
	mu sync.Mutex
	// samples are the durations of the last writes, the newest last.
	samples []time.Duration
	// count, sum and longest cover all writes so far.
	count        int
	sum, longest time.Duration
}

const (
	// sampleEvery is the pause between two writes.
	sampleEvery = 200 * time.Millisecond
	// sampleCount is how many writes count: those of the last ten seconds.
	sampleCount = 50
	// sampleTakes is how long a write took on the machine on which the limits were chosen, while a dozen tests ran on its two cores.
	sampleTakes = 100 * time.Millisecond
	// mostSlowdown bounds the factor: a limit that never ends is not a limit.
	mostSlowdown = 10
)

// machine is measured while tests run.
var machine = &speed{}

// writeTo returns a write that changes only an annotation that no client reads.
func writeTo(cluster *lab.Cluster) func(context.Context) {
	return func(ctx context.Context) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"speed":"%d"}}}`, time.Now().UnixNano())
		_, _ = cluster.Kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Patch(ctx, "default", types.MergePatchType, patch, metav1.PatchOptions{})
	}
}

// measure writes until ctx is done. A write that fails counts, too.
func (s *speed) measure(ctx context.Context, write func(context.Context)) {
	for lab.Pause(ctx, sampleEvery) {
		began := time.Now()
		write(ctx)
		s.add(time.Since(began))
	}
}

func (s *speed) add(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count, s.sum, s.longest = s.count+1, s.sum+took, max(s.longest, took)
	s.samples = append(s.samples, took)
	s.samples = s.samples[max(0, len(s.samples)-sampleCount):]
}

// slowdown returns a factor of at least 1. It uses the mean: a single long pause of the machine delays a test by that pause, not by a multiple of
// it.
func (s *speed) slowdown() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		return 1
	}
	var sum time.Duration
	for _, sample := range s.samples {
		sum += sample
	}
	mean := sum / time.Duration(len(s.samples))
	return min(mostSlowdown, max(1, float64(mean)/float64(sampleTakes)))
}

// String summarizes how fast the machine was, for the end of a log.
func (s *speed) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("A write to the API server took %v on average (limits are chosen for %v), and %v at most",
		(s.sum / time.Duration(max(1, s.count))).Round(time.Millisecond), sampleTakes, s.longest.Round(time.Millisecond))
}

// Scaled returns a duration adjusted to the current speed of this machine: longer if the machine is slow. It is for limits, and for Leases and
// deadlines that a test must not miss only because the machine is slow.
func Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * machine.slowdown())
}
