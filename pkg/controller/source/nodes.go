package source

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/plan/leaving"
)

// Nodes knows which nodes are being drained or are lost. It watches nodes only once a PodManager needs it. All controllers of a process share it.
type Nodes struct {
	kube  kubernetes.Interface
	clock clock.PassiveClock
	// needed is closed when the first PodManager needs the nodes.
	needed     chan struct{}
	needsNodes sync.Once

	mu        sync.Mutex
	known     map[string]node
	zones     map[string]zone
	forbidden bool
	// listing is set until all nodes are known. Before that, the share of lost nodes cannot be computed.
	listing   bool
	listeners map[int]func(names []string)
	listened  int
}

// node is what is known about a node.
type node struct {
	zone     string
	draining string
	isReady  bool
	// transition is when the node's condition Ready became Unknown. lostSince is when this process first saw that, but not before transition. Both
	// are zero if the node is not lost.
	lostSince, transition time.Time
}

// zone counts nodes. The zone "" has all nodes of the cluster. If more than half of the nodes were not ready at some time, calmSince is when that
// last ended. Otherwise it is zero.
type zone struct {
	total, notReady int
	calmSince       time.Time
}

// NewNodes returns Nodes that reads from this API server.
func NewNodes(kube kubernetes.Interface, now clock.PassiveClock) *Nodes {
	n := &Nodes{kube: kube, clock: now, needed: make(chan struct{}), listeners: map[int]func([]string){}}
	n.forget()
	return n
}

// Need starts the watch, if Run runs.
func (n *Nodes) Need() {
	n.needsNodes.Do(func() { close(n.needed) })
}

// Run watches the nodes from the first Need on, until ctx is done. After that, it may be called again, and lists the nodes anew.
func (n *Nodes) Run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-n.needed:
	}
	klog.FromContext(ctx).V(2).Info("Watching nodes")
	n.forget()
	factory := kubeinformers.NewSharedInformerFactoryWithOptions(n.kube, 0, kubeinformers.WithTransform(func(obj any) (any, error) {
		n.setForbidden(false) // handlers are not called for a node that is the same as before
		return trimNode(obj)
	}))
	informer := factory.Core().V1().Nodes().Informer()
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		n.setForbidden(apierrors.IsForbidden(err))
		watchFailed(ctx, r, err)
	})
	handled, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { n.set(obj.(*corev1.Node)) },
		UpdateFunc: func(_, obj any) { n.set(obj.(*corev1.Node)) },
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingObjectToName(obj); err == nil {
				n.replace(key.Name, nil)
			}
		},
	})
	factory.StartWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		n.listed()
	}
	<-ctx.Done()
	factory.Shutdown()
}

// forget drops everything that is known about nodes.
func (n *Nodes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known, n.zones, n.listing = map[string]node{}, map[string]zone{}, true
}

// nodeConditions are the conditions that show that a node is lost or is about to be drained.
var nodeConditions = []corev1.NodeConditionType{corev1.NodeReady, leaving.DrainInProgress, leaving.MaintenancePlanned}

// trimNode drops everything of a node that does not matter here.
func trimNode(obj any) (any, error) {
	if full, ok := obj.(*corev1.Node); ok {
		trimmed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion}}
		trimmed.Labels = map[string]string{corev1.LabelTopologyZone: full.Labels[corev1.LabelTopologyZone]}
		trimmed.Spec = corev1.NodeSpec{Unschedulable: full.Spec.Unschedulable, Taints: full.Spec.Taints}
		for _, c := range full.Status.Conditions {
			if slices.Contains(nodeConditions, c.Type) {
				trimmed.Status.Conditions = append(trimmed.Status.Conditions, c)
			}
		}
		return trimmed, nil
	}
	return obj, nil
}

// set records the state of a node. It notifies the listeners if pods have to leave the node from now on, or no longer have to.
func (n *Nodes) set(object *corev1.Node) {
	ready := nodeCondition(object, corev1.NodeReady)
	is := node{zone: object.Labels[corev1.LabelTopologyZone], draining: leaving.Draining(object), isReady: ready.Status == corev1.ConditionTrue}
	if ready.Status == corev1.ConditionUnknown {
		is.lostSince, is.transition = n.clock.Now(), ready.LastTransitionTime.Time
		if is.transition.After(is.lostSince) {
			is.lostSince = is.transition
		}
	}
	n.replace(object.Name, &is)
}

// replace replaces what is known about a node. is is nil if the node is gone.
func (n *Nodes) replace(name string, is *node) {
	n.mu.Lock()
	was, existed := n.known[name]
	before := n.troubled()
	if existed {
		n.count(was, -1)
		delete(n.known, name)
	}
	if is != nil {
		if !is.lostSince.IsZero() && is.transition.Equal(was.transition) { // otherwise the node has been ready in between
			is.lostSince = was.lostSince
		}
		n.known[name] = *is
		n.count(*is, 1)
	} else {
		is = &node{}
	}
	var changed []string
	if isNew := !existed && !n.listing; isNew || was.draining != is.draining || was.lostSince != is.lostSince {
		changed = append(changed, name)
	}
	if after := n.troubled(); !slices.Equal(before, after) { // it matters to the pods of all nodes that are lost
		n.calm(before, after)
		changed = append(changed, slices.DeleteFunc(n.lost(), func(other string) bool { return other == name })...)
	}
	n.mu.Unlock()
	if len(changed) > 0 {
		n.notify(changed)
	}
}

// lost returns the names of all lost nodes.
func (n *Nodes) lost() (names []string) {
	for name, is := range n.known {
		if !is.lostSince.IsZero() {
			names = append(names, name)
		}
	}
	return names
}

// calm records the zones in which the trouble is over. Nodes there that are still lost count as lost from now on only: other nodes have just
// returned, and these may follow.
func (n *Nodes) calm(before, after []string) {
	for _, name := range before {
		if z, exists := n.zones[name]; exists && !slices.Contains(after, name) {
			z.calmSince = n.clock.Now()
			n.zones[name] = z
		}
	}
}

// count adds a node to the counts of its zone and of the cluster, or removes it.
func (n *Nodes) count(is node, add int) {
	names := []string{""}
	if is.zone != "" {
		names = append(names, is.zone)
	}
	for _, name := range names {
		z := n.zones[name]
		z.total += add
		if !is.isReady {
			z.notReady += add
		}
		if n.zones[name] = z; z.total == 0 {
			delete(n.zones, name)
		}
	}
}

// isTroubled reports whether more than half of the nodes are not ready, in the cluster or in a zone with more than two nodes, so that the control plane is
// more likely to blame than the nodes.
func (n *Nodes) isTroubled(name string) bool {
	z := n.zones[name]
	return 2*z.notReady > z.total && (name == "" || z.total > 2)
}

// troubled returns the names of the zones that are troubled, sorted.
func (n *Nodes) troubled() (names []string) {
	for name := range n.zones {
		if n.isTroubled(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Of returns what is known about a node. The name is empty for a pod that is not scheduled: such a pod has no node to leave. The name may be that of
// a deleted node, until the pod garbage collector deletes the pod.
func (n *Nodes) Of(name string) leaving.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, exists := n.known[name]
	isGone := !exists && name != "" // or this process has yet to see it
	found := leaving.Node{Draining: is.draining, IsUnknown: n.listing || n.forbidden || isGone}
	if is.lostSince.IsZero() || found.IsUnknown {
		return found
	}
	if n.isTroubled("") || n.isTroubled(is.zone) {
		found.IsUnknown = true
		return found
	}
	for _, since := range []time.Time{is.lostSince, n.zones[""].calmSince, n.zones[is.zone].calmSince} {
		if since.After(found.LostSince) {
			found.LostSince = since
		}
	}
	return found
}

// Forbidden reports whether the API server does not let the controller watch nodes.
func (n *Nodes) Forbidden() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.forbidden
}

func (n *Nodes) setForbidden(forbidden bool) {
	n.mu.Lock()
	changed := n.forbidden != forbidden
	n.forbidden = forbidden
	n.mu.Unlock()
	if changed {
		n.notify(nil)
	}
}

// listed ends the time in which not all nodes are known.
func (n *Nodes) listed() {
	n.mu.Lock()
	n.listing = false
	n.mu.Unlock()
	n.notify(nil)
}

// Listen calls a function whenever pods of nodes may have to leave, or no longer have to, until stop is called. No names means all nodes.
func (n *Nodes) Listen(changed func(names []string)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listened++
	id := n.listened
	n.listeners[id] = changed
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, id)
	}
}

func (n *Nodes) notify(names []string) {
	n.mu.Lock()
	listeners := make([]func([]string), 0, len(n.listeners))
	for _, listener := range n.listeners {
		listeners = append(listeners, listener)
	}
	n.mu.Unlock()
	for _, listener := range listeners {
		listener(names)
	}
}

// nodeCondition returns a condition of a node, or an empty one.
func nodeCondition(object *corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range object.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}
