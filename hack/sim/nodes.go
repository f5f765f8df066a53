package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/hack/sim/luck"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world"
	"github.com/mycompany/podmanager/pkg/world/dice"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// kubelets simulate the scheduler and the kubelets of all nodes. pkg/world/nodes decides what they do about a pod; this type reads from the API
// server and writes the results back.
type kubelets struct {
	ctx    context.Context
	server *apiserver.Server
	client kubernetes.Interface
	seed   uint64

	mu      sync.Mutex // guards the fields below; never held during a request
	nodes   *nodes.Nodes
	pods    map[types.UID]*podRunner
	outages map[string]outage // by node
	all     sync.WaitGroup
}

// The kubelet's backoff before it restarts a failed container doubles with each failure.
const firstBackOff, longestBackOff = 10 * time.Second, 5 * time.Minute

// podRunner follows one pod from its creation to its end.
type podRunner struct {
	*kubelets
	uid    types.UID
	dice   dice.Dice
	latest *corev1.Pod // the latest version; nil once the pod is gone
	wake   chan struct{}
	// backOff is how long the kubelet waits before it restarts a container that has failed.
	backOff time.Duration
	// isRestored is set if a restore may have brought back an earlier state of the pod. The kubelet then goes on from that state.
	isRestored bool
}

func newKubelets(ctx context.Context, server *apiserver.Server, client kubernetes.Interface, seed uint64) *kubelets {
	k := &kubelets{ctx: ctx, server: server, client: client, seed: seed, pods: map[types.UID]*podRunner{}, outages: map[string]outage{}}
	k.nodes = nodes.New(dice.New(seed), time.Now(), false)
	k.nodes.Failed, k.nodes.Observed = func(*corev1.Pod) {}, func(*corev1.Pod) {}
	return k
}

// see records the latest version of a pod and wakes the pod's runner. pod is nil if the pod no longer exists.
func (k *kubelets) see(uid types.UID, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	runner := k.pods[uid]
	switch {
	case runner == nil && pod != nil:
		runner = &podRunner{kubelets: k, uid: uid, dice: dice.Dice{Rand: rand.New(rand.NewPCG(k.seed, hashOf(string(uid))))}, wake: make(chan struct{}, 1), backOff: firstBackOff}
		k.pods[uid] = runner
		k.all.Go(runner.run)
	case runner == nil:
		return
	}
	runner.latest = pod
	runner.wakeUp()
}

// restored handles a restore of the API server.
func (k *kubelets) restored() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, runner := range k.pods {
		runner.isRestored = true
	}
	k.wakeAll()
}

// wakeAll wakes all runners, always in the same order. The caller holds the lock.
func (k *kubelets) wakeAll() {
	for _, uid := range slices.Sorted(maps.Keys(k.pods)) {
		k.pods[uid].wakeUp()
	}
}

func (r *podRunner) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default: // a wakeup is pending already
	}
}

// run plays the kubelet for the pod until it is gone.
func (r *podRunner) run() {
	var pod *corev1.Pod
	defer func() {
		if pod != nil {
			r.mu.Lock()
			r.nodes.Remove(pod)
			r.mu.Unlock()
		}
	}()
	for r.ctx.Err() == nil {
		latest := r.read()
		if latest == nil {
			return
		}
		r.mu.Lock()
		if pod == nil || r.isRestored {
			r.isRestored = false
			r.nodes.Import(latest.DeepCopy(), world.Outdated(latest))
		}
		r.mu.Unlock()
		pod = latest
		switch isStep := r.advance(pod); {
		case isStep && r.fails():
			r.wait(r.backOff)
			r.backOff = min(2*r.backOff, longestBackOff)
		case !isStep:
			r.wait(30 * time.Second) // an image may have been pulled by then
		}
	}
}

// advance takes the next step with the pod, and reports whether there was one. Nothing happens on a lost node.
func (r *podRunner) advance(pod *corev1.Pod) bool {
	switch {
	case r.isLost(pod):
		return false
	case pod.DeletionTimestamp != nil:
		r.stop(pod)
		return false
	}
	return r.step(pod)
}

func (k *kubelets) isLost(pod *corev1.Pod) bool { return k.outage(pod.Spec.NodeName) == lost }

// read returns the latest version of the pod; nil if it is gone.
func (r *podRunner) read() *corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil {
		delete(r.pods, r.uid)
		return nil
	}
	return r.latest
}

// fails reports whether a container of the pod waits to be restarted, or for the next try to pull its image.
func (r *podRunner) fails() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil || r.latest.DeletionTimestamp != nil {
		return false
	}
	select {
	case <-r.wake: // woken by this kubelet's own write
	default:
	}
	statuses := slices.Concat(r.latest.Status.InitContainerStatuses, r.latest.Status.ContainerStatuses)
	return slices.ContainsFunc(statuses, func(status corev1.ContainerStatus) bool {
		waiting := status.State.Waiting
		return waiting != nil && (waiting.Reason == "ErrImagePull" || strings.HasSuffix(waiting.Reason, "BackOff"))
	})
}

// wait waits until the pod changes, but not longer than the given time.
func (r *podRunner) wait(longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-r.wake:
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// step takes the kubelet's next step after a short delay. It reports whether there was one.
func (r *podRunner) step(pod *corev1.Pod) bool {
	if !pause(r.ctx, 20*time.Millisecond+upTo(r.dice, 1500*time.Millisecond)) {
		return false
	}
	luck.Seed(r.dice.Uint64())
	fresh := r.read()
	if fresh == nil || fresh.DeletionTimestamp != nil || r.isLost(fresh) {
		return fresh != nil
	}
	isBound := fresh.Spec.NodeName != ""
	fresh = fresh.DeepCopy()
	if !isBound {
		name, isAny := r.schedulable(r.dice)
		if !isAny {
			return false
		}
		fresh.Spec.NodeName = name
	}
	if !r.do(func() bool {
		next := r.nodes.Next(fresh)
		if next != nil {
			next()
		}
		return next != nil
	}) {
		return false
	}
	if !isBound {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: fresh.Spec.NodeName}}
		_ = r.client.CoreV1().Pods(pod.Namespace).Bind(r.ctx, binding, metav1.CreateOptions{})
	}
	r.writeStatus(fresh)
	return true
}

// do calls change after it has set the time of the simulated nodes to now.
func (r *podRunner) do(change func() bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes.Now = time.Now()
	return change()
}

// writeStatus writes the status as a kubelet does: everything except the condition of the controller's readiness gate.
func (r *podRunner) writeStatus(pod *corev1.Pod) {
	_ = r.server.UpdatePodStatus("kubernetes", pod.Namespace, pod.Name, func(stored *corev1.Pod) bool {
		if stored.UID != pod.UID {
			return false
		}
		wanted := &corev1.Pod{Status: *pod.Status.DeepCopy()}
		nodes.DropCondition(wanted, v1.InPlaceReady)
		if found := nodes.Condition(stored, v1.InPlaceReady); found != nil {
			wanted.Status.Conditions = append(wanted.Status.Conditions, *found)
		}
		stored.Status = wanted.Status
		return true
	})
}

// stop ends the containers of a terminating pod within its grace period, and then deletes the pod.
func (r *podRunner) stop(pod *corev1.Pod) {
	grace := ptr.Deref(pod.DeletionGracePeriodSeconds, 30)
	if grace > 0 && pod.Spec.NodeName != "" && !pause(r.ctx, upTo(r.dice, time.Duration(grace)*time.Second)) || r.isLost(pod) {
		return
	}
	if len(pod.Finalizers) == 0 || grace > 0 {
		_ = r.client.CoreV1().Pods(pod.Namespace).Delete(r.ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	}
}

// disturb injects a fault into a pod that has a node.
func (k *kubelets) disturb(d dice.Dice, pod *corev1.Pod) {
	k.mu.Lock()
	runner := k.pods[pod.UID]
	k.mu.Unlock()
	if runner == nil || pod.DeletionTimestamp != nil || nodes.IsFinished(pod) || pod.Spec.NodeName == "" || k.isLost(pod) {
		return
	}
	what := d.IntN(6)
	// The kubelet changes the status that is stored: with an older one, it would take back what it has just written.
	_ = k.server.UpdatePodStatus("kubernetes", pod.Namespace, pod.Name, func(stored *corev1.Pod) bool {
		if stored.UID != pod.UID || stored.DeletionTimestamp != nil || nodes.IsFinished(stored) {
			return false
		}
		return runner.do(func() bool {
			switch what {
			case 0:
				k.nodes.Finish(stored)
			case 1:
				k.nodes.Evict(stored)
			case 2:
				k.nodes.SetReady(stored, false)
			default:
				return k.nodes.Crash(stored)
			}
			return true
		})
	})
}

// calm makes pods stop failing.
func (k *kubelets) calm() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes.Calm = true
	k.nodes.Reconnect()
	k.wakeAll()
}
