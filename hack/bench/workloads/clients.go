package workloads

import (
	"context"
	"errors"
	"net"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

// limitAgent is the user agent of the requests that show the maximum that the API server can do.
const limitAgent = "podmanager-bench-limit"

// ownersAtOnce is how many owners are created or changed at the same time.
const ownersAtOnce = 32

// clients has the clients of the bench.
type clients struct {
	kube        kubernetes.Interface
	podManagers versioned.Interface
	// limit has its own connection, like a controller.
	limit kubernetes.Interface
}

func newClients(cluster *lab.Cluster) (*clients, error) {
	protobuf := rest.CopyConfig(cluster.Config)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	protobuf.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	kube, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return nil, err
	}
	own := rest.CopyConfig(protobuf)
	own.UserAgent = limitAgent
	own.Dial = (&net.Dialer{}).DialContext // otherwise client-go would share the connection of the other clients
	limit, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	return &clients{kube: kube, podManagers: cluster.Managers, limit: limit}, nil
}

// inParallel makes count calls, at most atOnce at a time, until one fails or ctx is done.
func inParallel(ctx context.Context, count, atOnce int, call func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i := range count {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			if err := call(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return ctx.Err()
}
