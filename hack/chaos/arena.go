package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// arena is where a contender meets the faults of a run: a namespace, a proxy in front of the API server, an oracle that watches past
// the proxy, and a controller. The scenario acts as the user: in the end the pods must be as it has asked.
type arena struct {
	ctx       context.Context
	run       *run
	cluster   *lab.Cluster
	contender contender
	namespace string
	// random is the randomness of the scenario, people that of the churn beside it.
	random, people *rand.Rand
	proxy          *faults.Proxy
	oracle         *faults.Oracle
	// kubeconfig leads to the proxy; a scenario may replace it before it starts the controller.
	kubeconfig string
	process    *lab.Process
	// short asks for less of everything.
	short bool
	// blind is how long the faults keep the controller from seeing or doing anything: it may be that much later.
	blind time.Duration

	mu     sync.Mutex
	wanted map[string]want
}

// want is what the scenario has asked an owner for. If image is empty, pods may have any image.
type want struct {
	replicas int
	image    string
}

// abort is the panic of must. It ends the run, not the campaign.
type abort struct{ err error }

// must ends the run after an error of the harness itself, which says nothing about the contender.
func (a *arena) must(err error) {
	if err != nil {
		panic(abort{err})
	}
}

// newArena makes an arena without a controller. part distinguishes the arenas of one run.
func newArena(ctx context.Context, r *run, part string) (a *arena, err error) {
	a = &arena{
		ctx: ctx, run: r, cluster: r.cluster, contender: r.contender, short: r.short, wanted: map[string]want{},
		namespace: fmt.Sprintf("%s%s-%s-%d", r.scenario.name, part, r.contender.resource()[:2], r.seed%1e6),
		random:    rand.New(rand.NewPCG(r.seed, uint64(len(part)))),
		people:    rand.New(rand.NewPCG(r.seed, 1<<32)),
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}
	if _, err := a.cluster.Kube.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if a.proxy, err = faults.StartProxy(a.contender.kubeconfig(), r.seed); err != nil {
		return nil, err
	}
	a.kubeconfig = filepath.Join(a.cluster.Folder, a.namespace+".kubeconfig")
	if err := a.proxy.WriteKubeconfig(a.kubeconfig); err != nil {
		return nil, err
	}
	if a.oracle, err = faults.StartOracle(ctx, a.cluster.Config, a.namespace); err != nil {
		return nil, err
	}
	return a, a.awaitServiceAccount()
}

// awaitServiceAccount waits for the account without which no pod can be created.
func (a *arena) awaitServiceAccount() error {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	for {
		_, err := a.cluster.Kube.CoreV1().ServiceAccounts(a.namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("namespace %s has no default ServiceAccount: %w", a.namespace, err)
		}
	}
}

// beginOracle starts a new oracle, which is told what is wanted from now on: the versions that the last one has seen are no longer valid.
func (a *arena) beginOracle(wanted map[string]want) {
	a.mu.Lock()
	a.wanted = wanted
	a.mu.Unlock()
	oracle, err := faults.StartOracle(a.ctx, a.cluster.Config, a.namespace)
	a.must(err)
	a.oracle = oracle
	for name, wanted := range a.wants() {
		a.ask(name, wanted.replicas)
	}
}

// close ends the controller, and deletes the namespace in the background.
func (a *arena) close() {
	if a.process != nil {
		_ = a.process.Kill() // the process may have ended already
	}
	_ = a.proxy.Close()
	a.run.proxyLog(a.namespace, a.proxy.Log())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 30*time.Second)
	defer cancel()
	owners, _ := a.contender.owners(ctx, a.namespace)
	for _, o := range owners { // no controller is left to remove the finalizers
		_ = a.contender.patch(ctx, a.namespace, o.name, `{"metadata":{"finalizers":null}}`)
	}
	_ = a.cluster.Kube.CoreV1().Pods(a.namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{})
	_ = a.cluster.Kube.CoreV1().Namespaces().Delete(ctx, a.namespace, metav1.DeleteOptions{})
}

// branch is another arena of the same run.
func (a *arena) branch(part string) *arena {
	b, err := newArena(a.ctx, a.run, "-"+part)
	a.must(err)
	return b
}

// start starts the controller behind the proxy and waits until it is ready.
func (a *arena) start(flags ...string) {
	process, ready, err := a.contender.launch(a.kubeconfig, a.namespace, flags...)
	a.must(err)
	a.process = process
	a.await("the controller to be ready", func() (string, bool) { return process.Tail(5), ready() })
}

// kill ends the controller like a crash.
func (a *arena) kill() {
	a.must(a.process.Kill())
	a.run.count(controllerKills)
	a.logf("killed the controller")
}

func (a *arena) restart(flags ...string) {
	a.kill()
	a.start(flags...)
}

// patience is how long a run waits for what has to be there before it can go on, on a slow machine with other things to do.
const patience = 3 * time.Minute

// await polls until a condition holds. If it does not hold in time, the run is void.
func (a *arena) await(what string, holds func() (seen string, ok bool)) {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	for {
		seen, ok := holds()
		if ok {
			return
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			a.must(fmt.Errorf("waited in vain for %s; seen: %s", what, seen))
		}
	}
}

// own matches requests for a resource in the arena's namespace, or in all namespaces, which the peer watches.
func (a *arena) own(verb, resource string) func(faults.Request) bool {
	return func(r faults.Request) bool {
		return r.Is(verb, resource) && (r.Namespace == a.namespace || r.Namespace == "")
	}
}

func (a *arena) violate(violation faults.Violation) { a.run.violate(a.namespace, violation) }

func (a *arena) logf(format string, arguments ...any) {
	a.run.logf("%s: "+format, append([]any{a.namespace}, arguments...)...)
}
