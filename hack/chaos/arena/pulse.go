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

// Pulse repeatedly measures how long a write takes without a proxy. When the machine is busy for a moment, everything takes longer, and the limits
// of the checks have to allow for that.
type Pulse struct {
	mu    sync.Mutex
	beats []Beat
}

// Beat is one write, from start to end. The end is zero while the write is in flight.
type Beat struct{ From, To time.Time }

const (
	// pulseEvery is the pause between two writes.
	pulseEvery = 200 * time.Millisecond
	// Slack is a factor that extends every limit: by Slack times the duration of the slowest write, or of a shard's reaction without a fault. Where
	// those take one request, a limited operation takes about Slack requests in sequence. On an idle machine the extension is a fraction of a
	// second.
	Slack = 5
)

// NewPulse returns a Pulse that has measured these writes.
func NewPulse(beats ...Beat) *Pulse { return &Pulse{beats: beats} }

// StartPulse measures a cluster until ctx is done.
func StartPulse(ctx context.Context, cluster *lab.Cluster) *Pulse {
	p := NewPulse()
	go p.follow(ctx, func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"pulse":"%d"}}}`, time.Now().UnixNano())
		_, err := cluster.Kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Patch(ctx, "default", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	return p
}

// follow writes until ctx is done. A write that fails counts, too.
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

// Slowest returns the duration of the slowest write that was in flight between two times.
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
