//go:build e2e

package shards

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Three replicas share the work. The others take over from one that is stopped, and from one that is killed, and no pod is touched.
func TestShare(t *testing.T) {
	c := newReplicaGroup(t)
	all := []*lab.Process{c.start(8), c.start(8), c.start(8)}
	c.awaitHeld(harness.Patience, all, 2, 3, 3)
	c.create(16, 2)
	c.awaitReady(32)
	for _, pod := range c.Pods() {
		want := shard.Of(c.Name, pod.Labels[v1.LabelManager], 8).String()
		if got := pod.Labels[v1.LabelShard]; got != want {
			t.Errorf("pod %s has the shard %q, want %s", pod.Name, got, want)
		}
	}
	before := c.uids()

	if err := all[0].Stop(); err != nil || all[0].Err != nil {
		t.Fatalf("the replica did not stop cleanly: %v, %v\n%s", err, all[0].Err, all[0].Tail(10))
	}
	t.Logf("a stopped replica was taken over after %v", c.awaitHeld(5*time.Second, all[1:], 4, 4))
	c.wantSame(before)
	c.scale(3)
	c.awaitReady(48)

	before = c.uids()
	if err := all[1].Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("a killed replica was taken over after %v", c.awaitHeld(leaseDuration+5*time.Second, all[2:], 8))
	c.wantSame(before)
	c.scale(1)
	c.awaitReady(16)
}

// Sharding is enabled and disabled, and the number of shards changes, while pods are running. Only their label changes.
func TestNumberChanges(t *testing.T) {
	c := newReplicaGroup(t)
	leader := c.start(0)
	c.create(6, 2)
	c.awaitReady(12)
	before := c.uids()
	for _, shards := range []int{8, 4, 0, 8} {
		next := c.start(shards)
		if shards > 0 {
			c.await("a replica that waits", harness.Patience, func() (any, bool) {
				ready, err := next.Ready()
				return fmt.Sprint(ready, err), strings.Contains(ready, "[!]shards: waits for")
			})
		}
		if err := leader.Stop(); err != nil {
			t.Fatal(err)
		}
		leader = next
		if shards > 0 {
			c.awaitHeld(harness.Patience, []*lab.Process{leader}, shards)
			c.awaitLabels(shards)
		}
		c.wantSame(before)
		c.scale(3)
		c.awaitReady(18)
		c.scale(2)
		c.awaitReady(12)
		before = c.uids() // the scale-down also goes by the nodes, so other pods may be left
	}
}

// awaitLabels waits until all pods and revisions have the label of their shard.
func (c *replicaGroup) awaitLabels(shards int) {
	c.T.Helper()
	c.await("labelled pods and revisions", harness.Patience, func() (any, bool) {
		wrong := map[string]string{}
		check := func(object metav1.Object) {
			want := shard.Of(c.Name, object.GetLabels()[v1.LabelManager], shards).String()
			if got := object.GetLabels()[v1.LabelShard]; got != want {
				wrong[object.GetName()] = got
			}
		}
		for _, pod := range c.Pods() {
			check(&pod)
		}
		revisions, err := cluster.Kube.AppsV1().ControllerRevisions(c.Name).List(c.Ctx, metav1.ListOptions{})
		if err != nil {
			c.T.Fatal(err)
		}
		for _, revision := range revisions.Items {
			check(&revision)
		}
		return fmt.Sprint(wrong), len(wrong) == 0
	})
}

// Another client changes the label of pods: to another shard, to nonsense, to none. The controller restores it, and creates or deletes no pod.
func TestLabelIsPutBack(t *testing.T) {
	c := newReplicaGroup(t)
	all := []*lab.Process{c.start(4), c.start(4)}
	c.awaitHeld(harness.Patience, all, 2, 2)
	c.create(3, 3)
	c.awaitReady(9)
	before := c.uids()
	for i, value := range []string{`"%d-of-4"`, `"x"`, `null`} {
		pod := fmt.Sprintf("web-%d-1", i)
		other := (shard.Of(c.Name, fmt.Sprint("web-", i), 4).Index + 1) % 4
		if strings.Contains(value, "%") {
			value = fmt.Sprintf(value, other)
		}
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, v1.LabelShard, value)
		if _, err := cluster.Kube.CoreV1().Pods(c.Name).Patch(c.Ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitLabels(4)
	c.awaitReady(9)
	c.wantSame(before)
}

// A user gives a pod the label of another shard while no replica runs. The pod's own shard never sees the pod again, so the other shard has to
// restore the label. The PodManager is scaled down, so that no new pod conflicts with the name of the relabelled one, by which the controller would
// find it, too.
func TestLabelChangesWhileAway(t *testing.T) {
	c := newReplicaGroup(t)
	first := c.start(4)
	c.create(3, 3)
	c.awaitReady(9)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		other := (shard.Of(c.Name, fmt.Sprint("web-", i), 4).Index + 1) % 4
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"%d-of-4"}}}`, v1.LabelShard, other)
		if _, err := cluster.Kube.CoreV1().Pods(c.Name).Patch(c.Ctx, fmt.Sprintf("web-%d-2", i), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.scale(2)
	c.start(4)
	c.await("6 pods", harness.Patience, func() (any, bool) {
		pods := c.Pods()
		return pods, len(pods) == 6
	})
	c.awaitLabels(4)
}

// The next PodManager of the same name adopts the orphans of a deleted one.
func TestOrphans(t *testing.T) {
	c := newReplicaGroup(t)
	c.start(4)
	c.create(2, 3)
	c.awaitReady(6)
	before := c.uids()
	orphan := metav1.DeletePropagationOrphan
	if err := cluster.Managers.AppsV1().PodManagers(c.Name).Delete(c.Ctx, "web-1", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	c.await("orphans", harness.Patience, func() (any, bool) {
		owned := map[string]string{}
		for _, pod := range c.Pods() {
			if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Name == "web-1" {
				owned[pod.Name] = owner.Name
			}
		}
		return fmt.Sprint(owned), len(owned) == 0 && len(c.managers()) == 1
	})
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Spec: c.managers()[0].Spec}
	if _, err := cluster.Managers.AppsV1().PodManagers(c.Name).Create(c.Ctx, manager, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitReady(6)
	c.wantSame(before)
}
