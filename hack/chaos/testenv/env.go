package testenv

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

// Env is the environment of a run: a namespace, a proxy in front of the API server, an oracle that watches the API server directly, and a
// controller. The scenario acts as the user. In the end the pods must be as it has requested.
type Env struct {
	// Ctx ends with the run.
	Ctx context.Context
	// Run is the run that the environment belongs to. Cluster and Contender are the run's.
	Run       *Run
	Cluster   *lab.Cluster
	Contender Contender
	// Namespace is the namespace of everything in the environment.
	Namespace string
	// Random decides what the scenario does, People decides what the concurrent churn does.
	Random, People *rand.Rand
	// Proxy is between the controller and the API server. Oracle sees the API server's state.
	Proxy  *faults.Proxy
	Oracle *faults.Oracle
	// Kubeconfig points to the proxy. A scenario may replace it before it starts the controller.
	Kubeconfig string
	// Vary changes the owners that the churn creates, unless it is nil.
	Vary func(*OwnerOptions)
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
func (e *Env) Must(err error) {
	if err != nil {
		panic(abort{err})
	}
}

// newEnv returns an environment without a controller. part distinguishes the environments of one run.
func newEnv(ctx context.Context, r *Run, part string) (e *Env, err error) {
	e = &Env{
		Ctx: ctx, Run: r, Cluster: r.cluster, Contender: r.contender, Short: r.short, wanted: map[string]Want{},
		Namespace: fmt.Sprintf("%s%s-%s-%d", r.scenario.Name, part, r.contender.Resource()[:2], r.Seed%1e6),
		Random:    rand.New(rand.NewPCG(r.Seed, uint64(len(part)))),
		People:    rand.New(rand.NewPCG(r.Seed, 1<<32)),
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}
	if _, err := e.Cluster.Kube.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if e.Proxy, err = faults.StartProxy(e.Contender.Kubeconfig(), r.Seed); err != nil {
		return nil, err
	}
	e.Kubeconfig = filepath.Join(e.Cluster.Folder, e.Namespace+".kubeconfig")
	if err := e.Proxy.WriteKubeconfig(e.Kubeconfig); err != nil {
		return nil, err
	}
	if e.Oracle, err = faults.StartOracle(ctx, e.Cluster.Config, e.Namespace); err != nil {
		return nil, err
	}
	return e, e.awaitServiceAccount()
}

// awaitServiceAccount waits for the default ServiceAccount, without which no pod can be created.
func (e *Env) awaitServiceAccount() error {
	ctx, cancel := context.WithTimeout(e.Ctx, patience)
	defer cancel()
	for {
		_, err := e.Cluster.Kube.CoreV1().ServiceAccounts(e.Namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("namespace %s has no default ServiceAccount: %w", e.Namespace, err)
		}
	}
}

// BeginOracle starts a new oracle with new wants. The versions that the previous oracle has seen are no longer valid.
func (e *Env) BeginOracle(wanted map[string]Want) {
	e.mu.Lock()
	e.wanted = wanted
	e.mu.Unlock()
	oracle, err := faults.StartOracle(e.Ctx, e.Cluster.Config, e.Namespace)
	e.Must(err)
	e.Oracle = oracle
	for name, wanted := range e.Wants() {
		e.ask(name, wanted.Replicas)
	}
}

// Close ends the controller and deletes the namespace in the background.
func (e *Env) Close() {
	if e.Process != nil {
		_ = e.Process.Kill() // the process may have ended already
	}
	_ = e.Proxy.Close()
	e.Run.ProxyLog(e.Namespace, e.Proxy.Log())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.Ctx), 30*time.Second)
	defer cancel()
	owners, _ := e.Contender.Owners(ctx, e.Namespace)
	for _, o := range owners { // no controller is left to remove the finalizers
		_ = e.Contender.Patch(ctx, e.Namespace, o.Name, `{"metadata":{"finalizers":null}}`)
	}
	_ = e.Cluster.Kube.CoreV1().Pods(e.Namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{})
	_ = e.Cluster.Kube.CoreV1().Namespaces().Delete(ctx, e.Namespace, metav1.DeleteOptions{})
}

// Branch returns another environment in the same run.
func (e *Env) Branch(part string) *Env {
	b, err := newEnv(e.Ctx, e.Run, "-"+part)
	e.Must(err)
	return b
}

// Start starts the controller behind the proxy and waits until it is ready.
func (e *Env) Start(flags ...string) {
	process, ready, err := e.Contender.Launch(e.Kubeconfig, e.Namespace, flags...)
	e.Must(err)
	e.Process = process
	e.Await("the controller to be ready", func() (string, bool) { return process.Tail(5), ready() })
}

// Kill kills the controller, as a crash would.
func (e *Env) Kill() {
	e.Must(e.Process.Kill())
	e.Run.Count(ControllerKills, 1)
	e.Logf("killed the controller")
}

// Restart kills the controller and starts another one.
func (e *Env) Restart(flags ...string) {
	e.Kill()
	e.Start(flags...)
}

// patience is how long a run waits for a prerequisite. It allows for a slow and busy machine.
const patience = 3 * time.Minute

// Await polls until a condition holds. If it does not hold in time, the run is void.
func (e *Env) Await(what string, holds func() (seen string, ok bool)) {
	ctx, cancel := context.WithTimeout(e.Ctx, patience)
	defer cancel()
	for {
		seen, ok := holds()
		if ok {
			return
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			e.Must(fmt.Errorf("timed out waiting for %s; seen: %s", what, seen))
		}
	}
}

// Own returns a matcher of requests for a resource in the namespace of the environment, or in all namespaces, which the peer watches.
func (e *Env) Own(verb, resource string) func(faults.Request) bool {
	return func(r faults.Request) bool {
		return r.Is(verb, resource) && (r.Namespace == e.Namespace || r.Namespace == "")
	}
}

// Violate records that the contender has broken an invariant.
func (e *Env) Violate(violation faults.Violation) { e.Run.violate(e.Namespace, violation) }

// Logf writes to the log of the run.
func (e *Env) Logf(format string, arguments ...any) {
	e.Run.logf("%s: "+format, append([]any{e.Namespace}, arguments...)...)
}
