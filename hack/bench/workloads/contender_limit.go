package workloads

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// bare creates the same pods with parallel requests and no controller. No controller can be faster than this.
type bare struct {
	*clients
	pods *census.Pods
	// workers is how many requests are in flight at a time, see Bench.calibrate.
	workers int
}

func (b *bare) name() string { return figures.Limit }

func (b *bare) made(r audit.Request) bool { return r.UserAgent == limitAgent }

func (b *bare) launch() (*lab.Process, func() bool, error) { return nil, nil, nil }

func (b *bare) create(ctx context.Context, space string, owners, replicas int) error {
	return inParallel(ctx, owners*replicas, b.workers, func(ctx context.Context, i int) error {
		_, err := b.limit.CoreV1().Pods(space).Create(ctx, newPod(ownerName(i/replicas), i%replicas), metav1.CreateOptions{})
		return err
	})
}

// scale can only scale down to zero.
func (b *bare) scale(ctx context.Context, space string, _, replicas int) error {
	if replicas != 0 {
		return errors.New("bare requests know only how to delete all pods")
	}
	names := b.pods.Names(space)
	return inParallel(ctx, len(names), b.workers, func(ctx context.Context, i int) error {
		return b.limit.CoreV1().Pods(space).Delete(ctx, names[i], metav1.DeleteOptions{})
	})
}

func (b *bare) update(context.Context, string, int, string) error {
	return errors.New("bare requests update nothing")
}

func (b *bare) statuses() *census.Owners { return nil }

func (b *bare) remove(context.Context, string) error { return nil }
