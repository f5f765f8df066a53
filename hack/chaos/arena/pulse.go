package arena

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// Pulse measures again and again how long a write takes, past all proxies. A machine that is busy for a moment makes everything take longer,
// and the limits of the judges have to allow for that.
type Pulse struct {
	mu    sync.Mutex
	beats []Beat
}

// Beat is one write, from its beginning to its end. The end is zero while it is under way.
type Beat struct{ From, To time.Time }

const (
	// pulseEvery is how long the pulse waits between two writes.
	pulseEvery = 200 * time.Millisecond
	// Slack is how many times as long as a write takes at the moment, or a shard needs to react without a fault, all that has a limit may take
	// in addition: where these have one request, it has about that many, one after the other. On a machine that is not busy it comes to a
	// fraction of a second.
	Slack = 5
)

// NewPulse is a pulse that has measured these writes.
func NewPulse(beats ...Beat) *Pulse { return &Pulse{beats: beats} }

// StartPulse measures in a cluster until ctx is done.
func StartPulse(ctx context.Context, cluster *lab.Cluster) *Pulse {
	p := NewPulse()
	go p.follow(ctx, func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"pulse":"%d"}}}`, time.Now().UnixNano())
		_, err := cluster.Kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Patch(ctx, "default", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	return p
}

// follow writes until ctx is done. A write that fails counts, too: it has taken its time.
func (p *Pulse) follow(ctx context.Context, write func(context.Context) error) {
	for lab.Pause(ctx, pulseEvery) {
		p.mu.Lock()
		p.beats = append(p.beats, Beat{From: time.Now()})
		last := len(p.beats) - 1
		p.mu.Unlock()
		_ = write(ctx)
		p.mu.Lock()
		p.beats[last].To = time.Now()
		p.mu.Unlock()
	}
}

// Slowest is the longest that a write took which was under way between two times.
func (p *Pulse) Slowest(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	slowest := time.Duration(0)
	for _, b := range p.beats {
		end := b.To
		if end.IsZero() {
			end = time.Now()
		}
		if b.From.Before(to) && end.After(from) {
			slowest = max(slowest, end.Sub(b.From))
		}
	}
	return slowest
}
