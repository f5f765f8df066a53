package leader

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/mycompany/podmanager/pkg/shard"
)

const testShards = 16

// testReplicas has all replicas of a test, and records what they did.
type testReplicas struct {
	t      *testing.T
	ctx    context.Context
	server *testServer

	mutex sync.Mutex
	// writers has, for each shard, the replica that may write.
	writers map[int]string
	terms   []termRecord
}

// termRecord is one period in which a replica worked on a shard.
type termRecord struct {
	replica    string
	shard      int
	began      time.Time
	ended      time.Time // zero while it works
	lastUnsafe time.Time
}

// replica is one process.
type replica struct {
	name   string
	client *testClient
	group  *Group
	stop   context.CancelFunc
	ended  chan error
}

func withReplicas(t *testing.T, test func(t *testing.T, c *testReplicas)) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		ctx, cancel := context.WithCancel(ctx)
		c := &testReplicas{t: t, ctx: ctx, server: &testServer{leases: map[string]*coordinationv1.Lease{}}, writers: map[int]string{}}
		go c.watch()
		test(t, c)
		cancel()
		time.Sleep(2 * time.Minute)
	})
}

func (c *testReplicas) start(name, version string, shards int) *replica {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.ctx)
	r := &replica{name: name, client: c.server.client(), stop: stop, ended: make(chan error, 1)}
	config := Config{Namespace: "test", Name: "test", Duration: 14 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	var err error
	r.group, err = NewGroup(r.client, r.client, config, shards, version, func(part shard.Shard) Work {
		return func(ctx context.Context) error { return c.work(ctx, r, part) }
	})
	if err != nil {
		c.t.Fatal(err)
	}
	go func() { r.ended <- r.group.Run(ctx) }()
	return r
}

// work records when a replica works on a shard and, every 100 ms, whether it may write.
func (c *testReplicas) work(ctx context.Context, r *replica, part shard.Shard) error {
	c.mutex.Lock()
	index := len(c.terms)
	c.terms = append(c.terms, termRecord{replica: r.name, shard: part.Index, began: time.Now()})
	c.mutex.Unlock()
	isHeld := ctx.Value(heldKey{}).(func() bool)
	for ctx.Err() == nil {
		if isHeld() {
			c.mutex.Lock()
			c.terms[index].lastUnsafe = time.Now()
			c.mutex.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	time.Sleep(50 * time.Millisecond) // the last sync
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.terms[index].ended = time.Now()
	return nil
}

// watch fails the test if two replicas may write for the same shard at the same time.
func (c *testReplicas) watch() {
	for c.ctx.Err() == nil {
		c.mutex.Lock()
		may := map[int][]string{}
		for _, term := range c.terms {
			if term.ended.IsZero() && time.Since(term.lastUnsafe) < 100*time.Millisecond {
				may[term.shard] = append(may[term.shard], term.replica)
			}
		}
		c.mutex.Unlock()
		for index, replicas := range may {
			if len(replicas) > 1 {
				c.t.Errorf("the replicas %v may write for shard %d at the same time", replicas, index)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// loads returns the number of shards that each replica works on, as text.
func loads(replicas ...*replica) string {
	var counts []string
	for _, r := range replicas {
		counts = append(counts, fmt.Sprint(len(r.group.Held())))
	}
	return strings.Join(counts, " ")
}

// began returns the terms that began after a time.
func (c *testReplicas) began(after time.Time) []termRecord {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(c.terms), func(term termRecord) bool { return !term.began.After(after) })
}

func (c *testReplicas) wantLoads(want string, replicas ...*replica) {
	c.t.Helper()
	synctest.Wait()
	if got := loads(replicas...); got != want {
		c.t.Errorf("the replicas hold %s shards, want %s; the Leases: %v", got, want, c.server.holders())
	}
}

func TestGroupShares(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a := c.start("a", "", testShards)
		time.Sleep(5 * time.Second)
		c.wantLoads("16", a)
		b := c.start("b", "", testShards)
		time.Sleep(20 * time.Second)
		c.wantLoads("8 8", a, b)
		d := c.start("d", "", testShards)
		time.Sleep(20 * time.Second)
		if got := loads(a, b, d); got != "5 6 5" && got != "6 5 5" {
			t.Errorf("three replicas hold %s shards, want 5, 5 and 6", got)
		}
	})
}

// When a replica stops, the others take its shards within a second. They keep working on their own shards.
func TestGroupMemberStops(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a, b, d := c.start("a", "", testShards), c.start("b", "", testShards), c.start("d", "", testShards)
		time.Sleep(time.Minute)
		stopped := time.Now()
		a.stop()
		if err := <-a.ended; err != nil {
			t.Errorf("the replica ended with %v", err)
		}
		time.Sleep(time.Second)
		c.wantLoads("8 8", b, d)
		for _, term := range c.began(stopped) {
			if took := term.began.Sub(stopped); took > time.Second || term.replica == "a" {
				t.Errorf("%s took shard %d %v after the stop, want another replica to take it within a second", term.replica, term.shard, took)
			}
		}
		if moved := len(c.began(stopped)); moved > 6 {
			t.Errorf("%d shards have moved, want at most the 6 of the replica that stopped", moved)
		}
		time.Sleep(time.Minute)
		if moved := len(c.began(stopped)); moved > 6 {
			t.Errorf("%d shards have moved, want at most the 6 of the replica that stopped", moved)
		}
	})
}

// When a replica is cut off, the others take its shards soon after their Leases have expired. By then, the replica no longer writes. When it
// comes back, it gets its share again.
func TestGroupMemberIsCutOff(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a, b, d := c.start("a", "", testShards), c.start("b", "", testShards), c.start("d", "", testShards)
		time.Sleep(time.Minute)
		had, cut := len(a.group.Held()), time.Now()
		a.client.setCut(true)
		time.Sleep(19 * time.Second)
		c.wantLoads("0 8 8", a, b, d)
		taken := c.began(cut)
		if len(taken) != had {
			t.Errorf("%d shards have moved, want %d", len(taken), had)
		}
		for _, term := range taken {
			if took := term.began.Sub(cut); took > 16*time.Second {
				t.Errorf("%s took shard %d %v after a was cut off, want at most 16s", term.replica, term.shard, took)
			}
		}
		a.client.setCut(false)
		time.Sleep(time.Minute)
		if got := loads(a, b, d); strings.Contains(got, "0") {
			t.Errorf("after the replica was back, the replicas hold %s shards, want some each", got)
		}
	})
}

// In a rolling restart, each shard moves exactly once.
func TestGroupRollingRestart(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		var old []*replica
		for i := range 3 {
			old = append(old, c.start(fmt.Sprint("old", i), "1", testShards))
		}
		time.Sleep(time.Minute)
		began := time.Now()
		for i := range 3 {
			c.start(fmt.Sprint("new", i), "2", testShards)
			time.Sleep(10 * time.Second)
			old[i].stop()
			time.Sleep(10 * time.Second)
		}
		moves := map[int]int{}
		for _, term := range c.began(began) {
			moves[term.shard]++
		}
		if len(moves) != testShards || slices.Max(slices.Collect(maps.Values(moves))) != 1 {
			t.Errorf("the numbers of moves by shard are %v, want one each", moves)
		}
	})
}

// Replicas with another number of shards wait until the first group has stopped.
func TestGroupOfAnotherNumber(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a := c.start("a", "", testShards)
		time.Sleep(5 * time.Second)
		b := c.start("b", "", 2*testShards)
		time.Sleep(time.Minute)
		c.wantLoads("16 0", a, b)
		if got := b.group.OtherHolder(); got != "16 shards" {
			t.Errorf("the second group waits for %q, want 16 shards", got)
		}
		a.stop()
		<-a.ended
		time.Sleep(5 * time.Second)
		c.wantLoads("32", b)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		for name := range c.server.holders() {
			if strings.HasSuffix(name, "-of-16") {
				t.Errorf("the Lease %s of the first group was not deleted", name)
			}
		}
	})
}

// When a replica stops, it releases the Lease of the group only if no other replica can still rely on that Lease, because no other replica has
// renewed it for some time.
func TestGroupIsDissolvedByTheLast(t *testing.T) {
	for name, test := range map[string]struct {
		renewed time.Duration // how long before the stop another replica renews the Lease; 0 for never
		want    string
	}{"alone": {0, ""}, "a newcomer": {time.Nanosecond, "16 shards"}, "one that may be cut off": {8 * time.Second, "16 shards"}, "one that is gone": {15 * time.Second, ""}} {
		t.Run(name, func(t *testing.T) {
			withReplicas(t, func(t *testing.T, c *testReplicas) {
				a := c.start("a", "", testShards)
				time.Sleep(11 * time.Second)
				if client := c.server.client(); test.renewed > 0 {
					lease, err := client.Get(c.ctx, "test", metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
					if _, err := client.Update(c.ctx, lease, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(test.renewed)
				}
				a.stop()
				<-a.ended
				if holder := c.server.holders()["test"]; holder != test.want {
					t.Errorf("the Lease of the group is held by %q, want %q", holder, test.want)
				}
			})
		})
	}
}

// A single leader and a group never work at the same time.
func TestGroupAndLeader(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		client := c.server.client()
		spec := heldBy("leader")
		lease, err := client.Create(c.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "test"}, Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a := c.start("a", "", testShards)
		for range 10 { // the leader renews
			time.Sleep(2 * time.Second)
			lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
			if lease, err = client.Update(c.ctx, lease, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.wantLoads("0", a)
		}
		time.Sleep(10 * time.Second)
		c.wantLoads("0", a)
		time.Sleep(15 * time.Second) // the Lease has expired, and the elector has noticed: it reads the Lease every 2 to 4.4 s
		c.wantLoads("16", a)
	})
}

// When another client takes the Lease of a shard by force, the replica stops writing.
func TestShardTakenByForce(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a := c.start("a", "", 1)
		time.Sleep(10 * time.Second)
		client := c.server.client()
		lease, err := client.Get(c.ctx, "test-shard-0-of-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		thief := "thief"
		lease.Spec.HolderIdentity = &thief
		if _, err := client.Update(c.ctx, lease, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		taken := time.Now()
		time.Sleep(12 * time.Second)
		c.mutex.Lock()
		last := c.terms[0].lastUnsafe.Sub(taken)
		c.mutex.Unlock()
		if last > 5*time.Second {
			t.Errorf("the replica might write until %v after another client took the Lease", last)
		}
		time.Sleep(20 * time.Second)
		c.wantLoads("1", a) // the thief never renews
	})
}
