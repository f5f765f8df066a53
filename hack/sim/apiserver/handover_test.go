package apiserver_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/cmd/controller/app"
	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// slowEvents makes the API server slow to accept events.
type slowEvents struct{}

func (slowEvents) Before(_ context.Context, r *apiserver.Request) error {
	if r.Resource != nil && r.Resource.Name == "events" {
		time.Sleep(300 * time.Millisecond)
	}
	return nil
}

func (slowEvents) After(context.Context, *apiserver.Request, int) error { return nil }
func (slowEvents) Watch(*apiserver.Stream)                              {}

// startProcess starts the controller with its command line.
func startProcess(ctx context.Context, t *testing.T, s sim, name string, arguments ...string) (stop func()) {
	t.Helper()
	options := app.NewOptions()
	if err := options.Parse(append([]string{"-metrics-bind-address=0", "-health-probe-bind-address=0", "-policy-name=", "-leader-elect",
		"-leader-elect-resource-namespace=default"}, arguments...)); err != nil {
		t.Fatal(err)
	}
	config := options.Config()
	config.Cluster.REST = configOf(s.Server, name, slowEvents{})
	ctx, cancel := context.WithCancel(ctx)
	process := must(app.Prepare(ctx, config))
	ended := make(chan error)
	go func() { ended <- process.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// All events of the last syncs are written before the process ends. They may arrive after the Lease was released, because the next leader does not
// wait for them. The same holds for shards that another replica takes over.
func TestEventsArriveAfterHandover(t *testing.T) {
	tests := map[string]struct {
		arguments []string
		isJoined  bool
	}{
		"the leader ends":       {nil, false},
		"a replica ends":        {[]string{"-shards=4"}, false},
		"another replica joins": {[]string{"-shards=4"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				_, ctx := ktesting.NewTestContext(t)
				stop, managers := startProcess(ctx, t, s, "first", test.arguments...), 0
				createManagers := func(count int) {
					for range count {
						manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", managers)}, Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](1), Image: "nginx"}}
						must(s.managers.AppsV1().PodManagers("default").Create(ctx, manager, create))
						managers++
					}
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				if test.isJoined {
					stopSecond := startProcess(ctx, t, s, "second", test.arguments...)
					for range 50 { // while the second replica acquires one shard after the other
						createManagers(2)
					}
					stopSecond()
				}
				createManagers(8)
				stop()
				told := map[string]bool{}
				for _, event := range must(s.kube.EventsV1().Events("default").List(ctx, list)).Items {
					if event.Reason == v1.EventCreated {
						told[event.Regarding.Name] = true
					}
				}
				if len(told) != managers {
					t.Errorf("%d of %d events have arrived", len(told), managers)
				}
				time.Sleep(time.Minute) // let the last requests end
				synctest.Wait()
			})
		})
	}
}
