package testenv

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// Latency repeatedly measures how long a write takes without a proxy. When the machine is busy for a moment, everything takes longer, and the limits
// of the checks have to allow for that.
type Latency struct {
	mu     sync.Mutex
	writes []Write
}

// Write is one write, from start to end. The end is zero while the write is in flight.
type Write struct{ From, To time.Time }

const (
	// measureEvery is the pause between two writes.
	measureEvery = 200 * time.Millisecond
	// Slack is a factor that extends every limit: by Slack times the duration of the slowest write, or of a shard's reaction without a fault. Where
	// those take one request, a limited operation takes about Slack requests in sequence. On an idle machine the extension is a fraction of a
	// second.
	Slack = 5
)

// NewLatency returns a Latency that has measured these writes.
func NewLatency(writes ...Write) *Latency { return &Latency{writes: writes} }

// MeasureLatency measures a cluster until ctx is done.
func MeasureLatency(ctx context.Context, cluster *lab.Cluster) *Latency {
	l := NewLatency()
	go l.follow(ctx, func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"latency":"%d"}}}`, time.Now().UnixNano())
		_, err := cluster.Kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Patch(ctx, "default", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	return l
}

// follow writes until ctx is done. A write that fails counts, too.
func (l *Latency) follow(ctx context.Context, write func(context.Context) error) {
	for lab.Pause(ctx, measureEvery) {
		l.mu.Lock()
		l.writes = append(l.writes, Write{From: time.Now()})
		last := len(l.writes) - 1
		l.mu.Unlock()
		_ = write(ctx)
		l.mu.Lock()
		l.writes[last].To = time.Now()
		l.mu.Unlock()
	}
}

// Slowest returns the duration of the slowest write that was in flight between two times.
func (l *Latency) Slowest(from, to time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	slowest := time.Duration(0)
	for _, w := range l.writes {
		end := w.To
		if end.IsZero() {
			end = time.Now()
		}
		if w.From.Before(to) && end.After(from) {
			slowest = max(slowest, end.Sub(w.From))
		}
	}
	return slowest
}
