//go:build e2e

package shards

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The Leases of the tests are short, so that a test does not take long, but not so short that a replica loses them on a busy machine.
const leaseDuration = 8 * time.Second

// replicaGroup is a group of replicas, with a namespace for its PodManagers.
type replicaGroup struct {
	*harness.Space
	replicas int // the number of replicas that were started
}

func newReplicaGroup(t *testing.T) *replicaGroup {
	t.Helper()
	t.Parallel()
	return &replicaGroup{Space: harness.NewSpace(t, cluster)}
}

// start starts a replica with a number of shards; 0 for a single leader.
func (c *replicaGroup) start(shards int) *lab.Process {
	c.T.Helper()
	c.replicas++
	ctx, cancel := context.WithTimeout(c.Ctx, harness.Patience)
	defer cancel()
	p, err := cluster.Start(ctx, fmt.Sprintf("%s-%d", c.Name, c.replicas), "-v", "4", "-namespace", c.Name, "-leader-elect",
		"-leader-elect-resource-namespace=podmanager-system", "-leader-elect-resource-name="+c.Name,
		"-leader-elect-lease-duration="+leaseDuration.String(), "-leader-elect-renew-deadline=6s", "-leader-elect-retry-period=500ms",
		fmt.Sprint("-shards=", shards))
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { _ = p.Kill() })
	return p
}

// await waits until a condition holds, and returns how long that took.
func (c *replicaGroup) await(what string, limit time.Duration, holds func() (seen any, ok bool)) time.Duration {
	c.T.Helper()
	began := time.Now()
	harness.AwaitFor(c.T, limit, what, holds)
	return time.Since(began)
}

var heldPattern = regexp.MustCompile(`shards[^\n]*holds (\d+) of \d+`)

// held returns how many shards a replica reports to hold; -1 if it does not answer.
func held(p *lab.Process) int {
	ready, err := p.Ready()
	count := -1
	if found := heldPattern.FindStringSubmatch(ready); err == nil && found != nil {
		_, _ = fmt.Sscan(found[1], &count)
	}
	return count
}

// awaitHeld waits until the replicas hold these numbers of shards, in any order.
func (c *replicaGroup) awaitHeld(limit time.Duration, replicas []*lab.Process, want ...int) time.Duration {
	c.T.Helper()
	return c.await(fmt.Sprintf("replicas that hold %v shards", want), limit, func() (any, bool) {
		var got []int
		for _, p := range replicas {
			got = append(got, held(p))
		}
		slices.Sort(got)
		return fmt.Sprint(got), slices.Equal(got, want)
	})
}

// create creates PodManagers web-0, web-1 and so on.
func (c *replicaGroup) create(count, pods int) {
	c.T.Helper()
	for i := range count {
		manager := &v1.PodManager{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i)},
			Spec:       v1.PodManagerSpec{Replicas: ptr.To(int32(pods)), Image: "nginx"},
		}
		if _, err := cluster.Managers.AppsV1().PodManagers(c.Name).Create(c.Ctx, manager, metav1.CreateOptions{}); err != nil {
			c.T.Fatal(err)
		}
	}
}

// scale scales all PodManagers.
func (c *replicaGroup) scale(pods int) {
	c.T.Helper()
	for _, manager := range c.managers() {
		manager.Spec.Replicas = ptr.To(int32(pods))
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, pods)
		if _, err := cluster.Managers.AppsV1().PodManagers(c.Name).Patch(c.Ctx, manager.Name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			c.T.Fatal(err)
		}
	}
}

func (c *replicaGroup) managers() []v1.PodManager {
	c.T.Helper()
	list, err := cluster.Managers.AppsV1().PodManagers(c.Name).List(c.Ctx, metav1.ListOptions{})
	if err != nil {
		c.T.Fatal(err)
	}
	return list.Items
}

// awaitReady waits until all PodManagers are Ready with their current spec, and checks the number of pods.
func (c *replicaGroup) awaitReady(pods int) {
	c.T.Helper()
	c.await("Ready PodManagers", harness.Patience, func() (any, bool) {
		waiting := map[string]string{}
		for _, manager := range c.managers() {
			ready := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReady)
			if ready == nil || ready.Status != metav1.ConditionTrue || manager.Status.ObservedGeneration != manager.Generation {
				waiting[manager.Name] = fmt.Sprint(ready)
			}
		}
		return fmt.Sprint(waiting), len(waiting) == 0
	})
	if got := len(c.Pods()); got != pods {
		c.T.Errorf("%d pods, want %d", got, pods)
	}
}

// uids returns the UIDs of all pods by name.
func (c *replicaGroup) uids() map[string]string {
	all := map[string]string{}
	for _, pod := range c.Pods() {
		all[pod.Name] = string(pod.UID)
	}
	return all
}

// wantSame checks that the pods are still the same.
func (c *replicaGroup) wantSame(before map[string]string) {
	c.T.Helper()
	if now := c.uids(); !maps.Equal(before, now) {
		c.T.Errorf("the pods were %v and are %v", before, now)
	}
}
