package reconcile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

// Deps are the dependencies that the parts of a sync share.
type Deps struct {
	source.Clients
	Scopes       source.ByNamespace
	States       *syncstate.Store
	Capabilities inplace.Capabilities
	Spreading    plan.Spreading
	Clock        clock.PassiveClock
}

const (
	// StaleRetry is how soon to requeue a key if the cache is behind. Watch events take milliseconds.
	StaleRetry = 20 * time.Millisecond
	// StaleLimit is how long a cache may stay behind before a sync reads live. Even a busy API server sends its events sooner, and users
	// would not want to wait much longer.
	StaleLimit = 10 * time.Second
)

// LookUp does a live read of a pod name for which the cache is not enough, and remembers the result; see syncstate.Names. It reports whether a pod
// uses the name that the cache will never show.
func (d Deps) LookUp(ctx context.Context, key cache.ObjectName, name string) (isOutside bool, err error) {
	state := d.States.Of(key)
	pod, err := d.Kube.CoreV1().Pods(key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		pod = nil // never created, or gone
	case err != nil:
		state.MarkUnsettled(name)
		return false, fmt.Errorf("checking whether pod %s exists: %w", name, err)
	case d.Scopes.Of(key.Namespace).Shows(pod.Labels):
		state.Saw(source.PodsResource, pod.ResourceVersion, d.Clock.Now())
		pod = nil
	}
	klog.FromContext(ctx).V(2).Info("Looked up a pod that the cache does not show", "pod", klog.KRef(key.Namespace, name), "isOutside", pod != nil)
	state.Settle(name, pod, d.Clock.Now())
	return pod != nil, nil
}
