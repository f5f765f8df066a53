package scenarios

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/chaos/leasehistory"
	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/shard"
)

// shardCount is the number of shards. leaseNamespace is the namespace of the Leases; artifacts/shards/rbac.yaml grants access to it.
const (
	shardCount     = 8
	leaseNamespace = "podmanager-system"
)

// replicaGroup is a group of replicas that share the work in a test environment. The names of its Leases start with the namespace of the environment.
type replicaGroup struct {
	scene
	leases  coordinationclient.LeaseInterface
	history *leasehistory.History
	ledger  *leasehistory.Ledger
	// replicas are the running replicas; all includes those that have ended.
	replicas, all []*replica
	// forced are the times at which a shard was taken by force.
	forced []time.Time
	// poking is held while the canaries are scaled. Of two concurrent scales it would not be known which one came last.
	poking sync.Mutex
	// calm stops the loss of answers.
	calm atomic.Bool
	// usual is how long shards currently need to react on this machine without a fault.
	usual time.Duration
	// times are the durations of takeovers by kind.
	times map[string][]time.Duration
	stop  context.CancelFunc
}

// replica is a replica with a separate proxy and a separate token.
type replica struct {
	name       string
	credential string
	proxy      *faults.Proxy
	process    *lab.Process
	// isCutOff is true while the proxy lets nothing through.
	isCutOff atomic.Bool
	// faults are the periods in which the replica was stopped or cut off. They are only for the message of a violation.
	faults []faultTime
}

// faultTime is the period of a fault of a replica. The end is zero while it lasts.
type faultTime struct {
	what     string
	from, to time.Time
}

func newReplicaGroup(a scene) *replicaGroup {
	_, err := a.Cluster.Kubectl(a.Ctx, "apply", "-f", "artifacts/shards/rbac.yaml")
	a.Must(err)
	ctx, stop := context.WithCancel(a.Ctx)
	c := &replicaGroup{scene: a, leases: a.Cluster.Kube.CoordinationV1().Leases(leaseNamespace), times: map[string][]time.Duration{}, stop: stop}
	c.history, err = leasehistory.Follow(ctx, c.leases)
	a.Must(err)
	c.ledger, err = leasehistory.OpenLedger(a.Cluster.AuditLog, a.Contender.User(), a.Namespace)
	a.Must(err)
	go c.ledger.Follow(ctx)
	return c
}

// close ends all replicas and removes their Leases.
func (c *replicaGroup) close() {
	for _, r := range c.all {
		_ = r.process.Kill() // it may have ended already
		_ = r.proxy.Close()
		c.Run.ProxyLog(r.name, r.proxy.Log())
	}
	c.stop()
	_ = c.ledger.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Ctx), 30*time.Second)
	defer cancel()
	_ = c.leases.Delete(ctx, c.Namespace, metav1.DeleteOptions{})
	for name := range c.history.Holders(c.Namespace + "-") {
		_ = c.leases.Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// flags returns the flags of all replicas. The Leases are as short as in a split brain.
func (c *replicaGroup) flags() []string {
	return []string{"-leader-elect", fmt.Sprint("-shards=", shardCount), "-leader-elect-resource-namespace=" + leaseNamespace, "-leader-elect-resource-name=" + c.Namespace,
		"-leader-elect-lease-duration=" + leaseDuration.String(), "-leader-elect-renew-deadline=" + renewDeadline.String(), "-leader-elect-retry-period=500ms"}
}

// launch starts a replica without waiting until it is ready. The answers to 30 % of its creates are lost.
func (c *replicaGroup) launch() {
	r := &replica{name: fmt.Sprintf("%s-%d", c.Namespace, len(c.all)+1)}
	token, credential, err := c.newToken()
	c.Must(err)
	r.credential = credential
	config, err := clientcmd.LoadFromFile(c.Contender.Kubeconfig())
	c.Must(err)
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Token = token
	direct, proxied := filepath.Join(c.Cluster.Folder, r.name+"-direct.kubeconfig"), filepath.Join(c.Cluster.Folder, r.name+".kubeconfig")
	c.Must(clientcmd.WriteToFile(*config, direct))
	r.proxy, err = faults.StartProxy(direct, c.Run.Seed+uint64(len(c.all)))
	c.Must(err)
	c.Must(r.proxy.WriteKubeconfig(proxied))
	isCreate := c.Own("create", "pods")
	r.proxy.Inject(faults.Rule{Name: "lost", Rate: 0.3, Faults: []faults.Fault{{DropAnswer: true}},
		Match: func(request faults.Request) bool { return isCreate(request) && !r.isCutOff.Load() && !c.calm.Load() }})
	r.process, _, err = c.Contender.Launch(proxied, c.Namespace, c.flags()...)
	c.Must(err)
	c.all, c.replicas = append(c.all, r), append(c.replicas, r)
	c.Logf("started %s, log %s", r.name, filepath.Base(r.process.Log))
}

// newToken returns a token for the controller's account, and the credential ID by which the audit log identifies it.
func (c *replicaGroup) newToken() (token, credential string, err error) {
	account := strings.Split(c.Contender.User(), ":")
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](12 * 3600)}}
	answer, err := c.Cluster.Kube.CoreV1().ServiceAccounts(account[2]).CreateToken(c.Ctx, account[3], request, metav1.CreateOptions{})
	if err != nil {
		return "", "", err
	}
	parts := strings.Split(answer.Status.Token, ".")
	if len(parts) != 3 {
		return "", "", errors.New("the token is not a JWT")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", "", err
	}
	var id struct{ JTI string }
	err = json.Unmarshal(claims, &id)
	return answer.Status.Token, "JTI=" + id.JTI, err
}

// held returns the shards that a replica reports to hold; nil if it does not answer.
func (r *replica) held() []int {
	ready, _ := r.process.Ready()
	_, list, found := strings.Cut(ready, fmt.Sprintf(" of %d: ", shardCount))
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n")
	list, _, _ = strings.Cut(list, ";")
	var held []int
	for _, index := range strings.Split(list, ", ") {
		if n, err := strconv.Atoi(strings.TrimSpace(index)); err == nil {
			held = append(held, n)
		}
	}
	return held
}

var identityPattern = regexp.MustCompile(`"Sharing the PodManagers with the other replicas" identity="([^"]+)"`)

// identity returns the replica's identity in Leases, according to its log; empty if it has just started.
func (r *replica) identity() string {
	log, _ := os.ReadFile(r.process.Log)
	if found := identityPattern.FindSubmatch(log); found != nil {
		return string(found[1])
	}
	return ""
}

// shardsOf returns the shards whose Leases a replica holds, and the shards that are being handed over.
func (c *replicaGroup) shardsOf(r *replica) []int {
	identity := r.identity()
	holders := c.history.Holders(c.Namespace + "-shard-")
	var shards []int
	for _, part := range shard.All(shardCount) {
		if holder := holders[fmt.Sprintf("%s-shard-%v", c.Namespace, part)]; holder == identity || holder == "" {
			shards = append(shards, part.Index)
		}
	}
	return shards
}

// balanceLimit is how long it may take without faults until the shards are evenly distributed. A replica that was cut off may wait for a while
// before it reopens its watches.
const balanceLimit = 45 * time.Second

// awaitBalance waits until each shard has a replica, and no replica has two more than another.
func (c *replicaGroup) awaitBalance() {
	began := time.Now()
	for {
		var held []string
		var counts []int
		total := 0
		for _, r := range c.replicas {
			shards := r.held()
			total += len(shards)
			counts = append(counts, len(shards))
			held = append(held, fmt.Sprintf("%s %v", r.name, shards))
		}
		if total == shardCount && slices.Max(counts)-slices.Min(counts) < 2 {
			c.Logf("balanced after %v: %s", time.Since(began).Round(time.Millisecond), strings.Join(held, ", "))
			return
		}
		if took := time.Since(began); took > balanceLimit+c.longer(began, time.Now()) {
			c.Violate(faults.Violation{Invariant: "I3", Object: "shards", What: fmt.Sprintf("the shards are not shared evenly %v after the last fault: %s; the Leases: %v",
				took.Round(time.Second), strings.Join(held, ", "), c.history.Holders(c.Namespace+"-"))})
			return
		}
		if !lab.Pause(c.Ctx, 100*time.Millisecond) {
			return
		}
	}
}

// story describes the last fault, before a time, of the replica with a token.
func (c *replicaGroup) story(credential string, at time.Time) string {
	for _, r := range c.all {
		if r.credential != credential {
			continue
		}
		told := r.name + " was not disturbed before the write"
		for _, fault := range r.faults {
			switch {
			case at.Before(fault.from):
			case fault.to.IsZero() || at.Before(fault.to):
				told = fmt.Sprintf("%s was %s since %s", r.name, fault.what, leasehistory.Clock(fault.from))
			default:
				told = fmt.Sprintf("%s had been %s from %s to %s, %v before the write", r.name, fault.what,
					leasehistory.Clock(fault.from), leasehistory.Clock(fault.to), at.Sub(fault.to).Round(time.Millisecond))
			}
		}
		return told
	}
	return "the token belongs to no replica"
}

// judgeWrites checks that each write came from the replica that held the shard.
func (c *replicaGroup) judgeWrites() {
	c.Must(c.ledger.Read())
	c.Must(c.history.Err())
	onTheWay := func(received time.Time) time.Duration {
		return c.Run.Latency.Slowest(received.Add(-leaseDuration), received)
	}
	identities := map[string]string{}
	for _, r := range c.all {
		identities[r.credential] = r.identity()
	}
	holder := func(credential string) string { return identities[credential] }
	count, violations := c.ledger.Judge(c.history, c.Namespace, shardCount, holder, onTheWay, c.story)
	for _, violation := range violations {
		c.Violate(violation)
	}
	handovers := c.history.Handovers(c.Namespace + "-shard-")
	c.Run.Count(testenv.ShardHandovers, handovers)
	c.Logf("judged %d writes of %d replicas, with %d handovers", count, len(c.all), handovers)
	if count < 10*shardCount {
		c.Must(fmt.Errorf("%d writes are too few to judge", count))
	}
}
