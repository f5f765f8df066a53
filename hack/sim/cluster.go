package sim

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

var podManagers = schema.GroupVersionResource{Group: v1.GroupName, Version: v1.GroupVersion.Version, Resource: "podmanagers"}

// Cluster is a simulated cluster. It runs in a synctest bubble.
type Cluster struct {
	ctx     context.Context
	stop    context.CancelFunc
	seed    uint64
	dice    dice.Dice
	story   *story
	server  *apiserver.Server
	weather *weather
	rules   *rules

	kube     kubernetes.Interface
	managers versioned.Interface
	graph    metadata.Interface

	kubelets  *kubelets
	collector *collector
	judge     *judge
	users     []*user
	settings  settings
	hasCrowd  bool // whether there are many small PodManagers, too
	// outages are the dice for outages of nodes; nil if there are none.
	outages *dice.Dice
	// areClocksOff is whether the clocks of the controller's processes are off by minutes.
	areClocksOff bool
	troubles     []string // kinds of faults; a kind is repeated according to its likelihood
	running      sync.WaitGroup
	logger       klog.Logger

	mu       sync.Mutex
	replicas []*replica
}

// settings describe how the controller is deployed.
type settings struct {
	shards   int
	replicas int
	elects   bool
}

// New returns a cluster in which only the components of Kubernetes run. live, if not nil, gets the story as it happens.
func New(seed uint64, crd string, live io.Writer) (*Cluster, error) {
	data, err := os.ReadFile(crd)
	if err != nil {
		return nil, err
	}
	custom, err := apiserver.ParseCRD(data)
	if err != nil {
		return nil, err
	}
	c := &Cluster{seed: seed, dice: dice.New(seed), story: newStory(live)}
	if live != nil {
		c.logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(live), textlogger.Verbosity(4)))
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.server = apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(seed, hashOf("server"))), Custom: []*apiserver.Resource{custom}})
	c.weather = &weather{ctx: c.ctx, seed: seed, story: c.story, counts: map[string]uint64{}, trouble: func(until time.Time) { c.judge.trouble("", until) }}
	config := c.config(c.server.Client("kubernetes", nil))
	inProtobuf := rest.CopyConfig(config)
	inProtobuf.ContentType, inProtobuf.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	if c.kube, err = kubernetes.NewForConfig(inProtobuf); err != nil {
		return nil, err
	}
	if c.managers, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.graph, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	c.kubelets = newKubelets(c.ctx, c.server, c.kube, seed^hashOf("kubelets"))
	c.collector = newCollector(c.ctx, c.graph, dice.New(seed^hashOf("garbage")))
	c.judge = newJudge(c)
	c.rules = newRules(c)
	c.server.Admit(c.rules.admit)
	c.server.Observe(c.observe)
	c.running.Go(c.collector.run)
	return c, nil
}

func (c *Cluster) config(transport *apiserver.Client) *rest.Config {
	return &rest.Config{Host: "http://simulation", Transport: transport, QPS: -1}
}

// observe passes each write on to the components that need it.
func (c *Cluster) observe(change *apiserver.Change) {
	c.story.wrote(change)
	pod, _ := change.New.(*corev1.Pod)
	switch change.Request.Resource.Name {
	case "pods":
		c.kubelets.see(uidOf(change), pod)
		c.collector.see(change)
	case "podmanagers", "controllerrevisions":
		c.collector.see(change)
	}
	c.judge.see(change, pod)
}

// Close stops all components. The bubble ends once all goroutines have ended.
func (c *Cluster) Close() {
	c.mu.Lock()
	replicas := slices.Clone(c.replicas)
	c.mu.Unlock()
	for _, r := range replicas {
		r.kill()
	}
	c.stop()
	c.running.Wait()
	c.kubelets.all.Wait()
}

func uidOf(c *apiserver.Change) types.UID {
	if c.New == nil {
		return c.Old.GetUID()
	}
	return c.New.GetUID()
}

// pause waits for the given time. It reports false if ctx is done.
func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// upTo returns a random time, in nanoseconds so that hardly any two things happen at the same instant: their order would be the scheduler's.
func upTo(d dice.Dice, longest time.Duration) time.Duration {
	return time.Duration(d.IntN(int(longest)))
}

// namespaces are the users' namespaces. The controller runs in podmanager-system.
var namespaces = []string{"team-a", "team-b"}

func (c *Cluster) createNamespaces() error {
	for _, name := range append([]string{systemNamespace}, namespaces...) {
		if err := c.server.CreateNamespace(name); err != nil {
			return err
		}
	}
	return nil
}

// restore restores an earlier state.
func (c *Cluster) restore(back, ahead int64) {
	version := max(1, c.server.Version()-back)
	c.story.tell("restored to version %d, and %d ahead", version, ahead)
	c.judge.restored()
	if err := c.server.Restore(version, ahead); err != nil {
		c.story.tell("the restore failed: %v", err)
	}
	c.kubelets.restored()
}
