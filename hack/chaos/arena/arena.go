package arena

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

// Arena is the environment of a run: a namespace, a proxy in front of the API server, an oracle that watches the API server directly, and a
// controller. The scenario acts as the user. In the end the pods must be as it has requested.
type Arena struct {
	// Ctx ends with the run.
	Ctx context.Context
	// Run is the run that the arena belongs to. Cluster and Contender are the run's.
	Run       *Run
	Cluster   *lab.Cluster
	Contender Contender
	// Namespace is the namespace of everything in the arena.
	Namespace string
	// Random decides what the scenario does, People decides what the concurrent churn does.
	Random, People *rand.Rand
	// Proxy is between the controller and the API server. Oracle sees the API server's state.
	Proxy  *faults.Proxy
	Oracle *faults.Oracle
	// Kubeconfig points to the proxy. A scenario may replace it before it starts the controller.
	Kubeconfig string
	// Process is the controller, once it is started.
	Process *lab.Process
	// Short requests a smaller run.
	Short bool
	// Blind is how long the faults keep the controller from seeing or doing anything. Its limits are longer by that much.
	Blind time.Duration

	mu     sync.Mutex
	wanted map[string]Want
}

// Want is what the scenario has requested of an owner. If Image is empty, pods may have any image.
type Want struct {
	// Replicas is the number of pods, Image the image of their container.
	Replicas int
	Image    string
}

// abort is the panic of Must. It ends the run, but not the campaign.
type abort struct{ err error }

// Must ends the run after an error of the harness, which proves nothing about the contender.
func (a *Arena) Must(err error) {
	if err != nil {
		panic(abort{err})
	}
}

// newArena returns an arena without a controller. part distinguishes the arenas of one run.
func newArena(ctx context.Context, r *Run, part string) (a *Arena, err error) {
	a = &Arena{
		Ctx: ctx, Run: r, Cluster: r.cluster, Contender: r.contender, Short: r.short, wanted: map[string]Want{},
		Namespace: fmt.Sprintf("%s%s-%s-%d", r.scenario.Name, part, r.contender.Resource()[:2], r.Seed%1e6),
		Random:    rand.New(rand.NewPCG(r.Seed, uint64(len(part)))),
		People:    rand.New(rand.NewPCG(r.Seed, 1<<32)),
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.Namespace}}
	if _, err := a.Cluster.Kube.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if a.Proxy, err = faults.StartProxy(a.Contender.Kubeconfig(), r.Seed); err != nil {
		return nil, err
	}
	a.Kubeconfig = filepath.Join(a.Cluster.Folder, a.Namespace+".kubeconfig")
	if err := a.Proxy.WriteKubeconfig(a.Kubeconfig); err != nil {
		return nil, err
	}
	if a.Oracle, err = faults.StartOracle(ctx, a.Cluster.Config, a.Namespace); err != nil {
		return nil, err
	}
	return a, a.awaitServiceAccount()
}

// awaitServiceAccount waits for the default ServiceAccount, without which no pod can be created.
func (a *Arena) awaitServiceAccount() error {
	ctx, cancel := context.WithTimeout(a.Ctx, patience)
	defer cancel()
	for {
		_, err := a.Cluster.Kube.CoreV1().ServiceAccounts(a.Namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("namespace %s has no default ServiceAccount: %w", a.Namespace, err)
		}
	}
}

// BeginOracle starts a new oracle with new wants. The versions that the previous oracle has seen are no longer valid.
func (a *Arena) BeginOracle(wanted map[string]Want) {
	a.mu.Lock()
	a.wanted = wanted
	a.mu.Unlock()
	oracle, err := faults.StartOracle(a.Ctx, a.Cluster.Config, a.Namespace)
	a.Must(err)
	a.Oracle = oracle
	for name, wanted := range a.Wants() {
		a.ask(name, wanted.Replicas)
	}
}

// Close ends the controller and deletes the namespace in the background.
func (a *Arena) Close() {
	if a.Process != nil {
		_ = a.Process.Kill() // the process may have ended already
	}
	_ = a.Proxy.Close()
	a.Run.ProxyLog(a.Namespace, a.Proxy.Log())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.Ctx), 30*time.Second)
	defer cancel()
	owners, _ := a.Contender.Owners(ctx, a.Namespace)
	for _, o := range owners { // no controller is left to remove the finalizers
		_ = a.Contender.Patch(ctx, a.Namespace, o.Name, `{"metadata":{"finalizers":null}}`)
	}
	_ = a.Cluster.Kube.CoreV1().Pods(a.Namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{})
	_ = a.Cluster.Kube.CoreV1().Namespaces().Delete(ctx, a.Namespace, metav1.DeleteOptions{})
}

// Branch returns another arena of the same run.
func (a *Arena) Branch(part string) *Arena {
	b, err := newArena(a.Ctx, a.Run, "-"+part)
	a.Must(err)
	return b
}

// Start starts the controller behind the proxy and waits until it is ready.
func (a *Arena) Start(flags ...string) {
	process, ready, err := a.Contender.Launch(a.Kubeconfig, a.Namespace, flags...)
	a.Must(err)
	a.Process = process
	a.Await("the controller to be ready", func() (string, bool) { return process.Tail(5), ready() })
}

// Kill kills the controller, as a crash would.
func (a *Arena) Kill() {
	a.Must(a.Process.Kill())
	a.Run.Count(ControllerKills, 1)
	a.Logf("killed the controller")
}

// Restart kills the controller and starts another one.
func (a *Arena) Restart(flags ...string) {
	a.Kill()
	a.Start(flags...)
}

// patience is how long a run waits for a prerequisite. It allows for a slow and busy machine.
const patience = 3 * time.Minute

// Await polls until a condition holds. If it does not hold in time, the run is void.
func (a *Arena) Await(what string, holds func() (seen string, ok bool)) {
	ctx, cancel := context.WithTimeout(a.Ctx, patience)
	defer cancel()
	for {
		seen, ok := holds()
		if ok {
			return
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			a.Must(fmt.Errorf("timed out waiting for %s; seen: %s", what, seen))
		}
	}
}

// Own returns a matcher of requests for a resource in the arena's namespace, or in all namespaces, which the peer watches.
func (a *Arena) Own(verb, resource string) func(faults.Request) bool {
	return func(r faults.Request) bool {
		return r.Is(verb, resource) && (r.Namespace == a.Namespace || r.Namespace == "")
	}
}

// Violate records that the contender has broken an invariant.
func (a *Arena) Violate(violation faults.Violation) { a.Run.violate(a.Namespace, violation) }

// Logf writes to the log of the run.
func (a *Arena) Logf(format string, arguments ...any) {
	a.Run.logf("%s: "+format, append([]any{a.Namespace}, arguments...)...)
}
