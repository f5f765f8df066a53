package leader

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
)

// A Lease that a replica has seen expire is free, unless its holder has renewed it since. A stalled watch does not show such a renewal.
func TestObservedLock(t *testing.T) {
	for name, test := range map[string]struct {
		renewed bool
		want    string
	}{
		"it has expired":                    {false, ""},
		"the watch has missed its renewals": {true, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			withReplicas(t, func(t *testing.T, c *testReplicas) {
				client := c.server.client()
				spec := heldBy("a")
				lease, err := client.Create(c.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "test-shard"}, Spec: spec}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				o := newObserver(14 * time.Second)
				o.saw(lease.DeepCopy())
				time.Sleep(20 * time.Second)
				if test.renewed {
					lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
					if _, err := client.Update(c.ctx, lease, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				lock := observedLock{&resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "test-shard"}, Client: client}, o, nil}
				record, _, err := lock.Get(c.ctx)
				if err != nil || record.HolderIdentity != test.want {
					t.Errorf("the holder is %q, want %q; error: %v", record.HolderIdentity, test.want, err)
				}
			})
		})
	}
}

// A deleted Lease expires within the lease duration of the group, whatever its own duration was, so that an administrator can take it from
// its holder.
func TestDeletedLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserver(14 * time.Second)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shard"}, Spec: heldBy("another")}
		lease.Spec.LeaseDurationSeconds = ptr.To[int32](3600)
		o.saw(lease)
		o.deleted(lease)
		if now := time.Now(); o.get("shard").isFree(now.Add(13*time.Second)) || !o.get("shard").isFree(now.Add(15*time.Second)) {
			t.Errorf("the Lease is free at %v, want about 14s after %v", o.get("shard").freeAt(), now)
		}
	})
}
