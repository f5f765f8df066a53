package apiserver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2/ktesting"

	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Two replicas share the shards through Leases on the server. When one replica stops, the other takes over its shards.
func TestGroup(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		_, ctx := ktesting.NewTestContext(t)
		config := leader.Config{Namespace: "default", Name: "test", Duration: 14 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
		start := func() (*leader.Group, func()) {
			leases := s.kube.CoordinationV1()
			group, err := leader.NewGroup(leases, leases, config, 4, "", func(shard.Shard) leader.Work {
				return func(ctx context.Context) error { <-ctx.Done(); return nil }
			})
			if err != nil {
				t.Fatal(err)
			}
			running, stop := context.WithCancel(ctx)
			ended := make(chan error)
			go func() { ended <- group.Run(running) }()
			return group, func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		first, stopFirst := start()
		second, stopSecond := start()
		time.Sleep(time.Minute)
		if a, b := len(first.Held()), len(second.Held()); a != 2 || b != 2 {
			t.Errorf("the replicas hold %d and %d shards", a, b)
		}
		stopFirst()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if held := len(second.Held()); held != 4 {
			t.Errorf("after the first replica has stopped, the second holds %d shards", held)
		}
		stopSecond()
		time.Sleep(time.Minute) // let the last requests end
	})
}
