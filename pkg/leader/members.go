package leader

import (
	"context"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/shard"
)

// member is this replica.
type member struct {
	shard.Member
	id string // of the Lease
	// lease is the Lease as last written; nil if it has to be created.
	lease   *coordinationv1.Lease
	witness witness // sees that Lease
}

// newIdentity is the name of this process: the host name is for people. Without the UUID, two processes on one host could both lead.
func newIdentity() (identity, id string, err error) {
	host, err := os.Hostname()
	if err != nil {
		return "", "", fmt.Errorf("the host has no name to stand for election with: %w", err)
	}
	id = string(uuid.NewUUID())
	return host + "_" + id, id, nil
}

// look is a look at the Lease of the group.
type look struct {
	at      time.Time
	version string
}

// annotationVersion, on the Lease of a replica, holds its version.
const annotationVersion = v1.GroupName + "/version"

func memberOf(lease observation) shard.Member {
	return shard.Member{Identity: lease.holder(), Version: lease.Annotations[annotationVersion], Since: lease.CreationTimestamp.Time}
}

// keepAlive renews the Leases of this replica and of the group until ctx is done.
func (g *Group) keepAlive(ctx context.Context) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, g.config.RenewDeadline/2)
		defer cancel()
		err := g.keepTogether(ctx)
		for range 3 { // another replica of the group was faster
			if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
				break
			}
			err = g.keepTogether(ctx)
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Lease of the group not renewed", "err", err)
		}
		if g.OtherHolder() != "" { // not a replica of the group yet
			g.leave(ctx)
			return
		}
		if err := g.renewMember(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Lease of this replica not renewed", "err", err)
		}
		g.removeDead(ctx)
	}, g.config.RetryPeriod, 0.2, true)
}

// renewMember tells the others that this replica is alive.
func (g *Group) renewMember(ctx context.Context) error {
	leases := g.client.Leases(g.config.Namespace)
	var written *coordinationv1.Lease
	var err error
	if g.member.lease == nil {
		written, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: g.names.member(g.member.id), Annotations: map[string]string{annotationVersion: g.member.Version}},
			Spec:       g.specOf(g.member.Identity),
		}, metav1.CreateOptions{})
	} else {
		renewed := g.member.lease.DeepCopy()
		renewed.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		written, err = leases.Update(ctx, renewed, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		g.member.lease = nil // somebody has deleted it
		g.member.witness.see(ctx, resourcelock.LeaderElectionRecord{})
		return err
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		written, err = leases.Get(ctx, g.names.member(g.member.id), metav1.GetOptions{})
	}
	if err == nil { // otherwise it is an empty one, which can never be written
		g.member.lease = written
		g.member.witness.see(ctx, *resourcelock.LeaseSpecToLeaderElectionRecord(&written.Spec))
	}
	return err
}

func (g *Group) specOf(identity string) coordinationv1.LeaseSpec {
	now := metav1.NowMicro()
	return coordinationv1.LeaseSpec{
		HolderIdentity: &identity, LeaseDurationSeconds: ptr.To(int32(g.config.Duration / time.Second)), AcquireTime: &now, RenewTime: &now,
	}
}

// groupIdentity is the holder of the Lease of a single leader while there is a group.
func (g *Group) groupIdentity() string { return fmt.Sprintf("%d shards", g.count) }

// keepTogether renews the Lease that keeps a single leader, and replicas with another number of shards, from being at work as well.
func (g *Group) keepTogether(ctx context.Context) error {
	leases := g.client.Leases(g.config.Namespace)
	sent := time.Now()
	lease, err := leases.Get(ctx, g.config.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: g.config.Name}, Spec: g.specOf(g.groupIdentity())}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	case err != nil:
	default:
		known, found := g.observer.get(g.config.Name)
		isFree := ptr.Deref(lease.Spec.HolderIdentity, "") == "" ||
			found && known.ResourceVersion == lease.ResourceVersion && known.isExpired(sent)
		last := g.lastLook
		g.lastLook = look{at: sent, version: lease.ResourceVersion}
		switch holder := ptr.Deref(lease.Spec.HolderIdentity, ""); {
		case holder != g.groupIdentity() && !isFree:
			g.setKept(ctx, time.Time{}, holder)
			return nil
		case holder == g.groupIdentity() && last.version != "" && last.version != lease.ResourceVersion:
			// Another replica has renewed it since the last look, which is enough for all.
			g.setKept(ctx, last.at, "")
			return nil
		}
		acquired := lease.Spec.AcquireTime
		lease.Spec = g.specOf(g.groupIdentity())
		if !isFree {
			lease.Spec.AcquireTime = acquired
		}
		if lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
			g.lastLook.version = lease.ResourceVersion
		}
	}
	if err == nil {
		g.setKept(ctx, sent, "")
	}
	return err
}

// setKept notes that the group may be at work since a time, or which other holder keeps it from that.
func (g *Group) setKept(ctx context.Context, kept time.Time, other string) {
	g.mu.Lock()
	isNew := other != g.otherHolder
	if kept.IsZero() || kept.After(g.kept) {
		g.kept = kept
	}
	g.otherHolder = other
	g.mu.Unlock()
	if isNew && other != "" {
		klog.FromContext(ctx).Info("Waiting: another way to divide the work is in use, and goes on until its replicas have stopped",
			"lease", klog.KRef(g.config.Namespace, g.config.Name), "holder", other, "wanted", g.groupIdentity())
	}
	g.observer.notify()
}

// isKept tells whether the group may be at work. Callers hold the mutex.
func (g *Group) isKept(now time.Time) bool { return isWithin(g.config.RenewDeadline, g.kept, now) }

// removeDead deletes the Leases of replicas that have been gone for long, and of shards of another number.
func (g *Group) removeDead(ctx context.Context) {
	long := time.Now().Add(-10 * g.config.Duration)
	for name, lease := range g.observer.all() {
		isDead := g.names.isMember(name) && lease.isExpired(long)
		isUnused := g.names.isOfAnotherNumber(name, g.count) && lease.isFree(time.Now())
		if !isDead && !isUnused {
			continue
		}
		precondition := metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
		err := g.client.Leases(g.config.Namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &precondition})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			klog.FromContext(ctx).V(2).Info("Lease that nobody needs not deleted", "lease", name, "err", err)
		}
	}
}

// leave deletes the Lease of this replica.
func (g *Group) leave(ctx context.Context) {
	if g.member.lease == nil {
		return
	}
	g.member.lease, g.member.witness.last = nil, resourcelock.LeaderElectionRecord{}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	err := g.client.Leases(g.config.Namespace).Delete(ctx, g.names.member(g.member.id), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "Lease of this replica not deleted; it runs out by itself")
	}
}

// dissolve releases the Lease of the group if this replica is the last one, so that whoever comes next need not wait until it runs out.
func (g *Group) dissolve(ctx context.Context) {
	g.mu.Lock()
	others, isKept := len(g.view(time.Now()).Members), g.isKept(time.Now())
	g.mu.Unlock()
	if others > 0 || !isKept {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	leases := g.client.Leases(g.config.Namespace)
	lease, err := leases.Get(ctx, g.config.Name, metav1.GetOptions{})
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == g.groupIdentity() {
		lease.Spec = g.specOf("")
		lease.Spec.LeaseDurationSeconds = ptr.To[int32](1)
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Lease of the group not released; it runs out by itself", "err", err)
	}
}

// observedLock lets client-go take a Lease at once that this replica has seen run out. client-go by itself would wait for another
// LeaseDuration, because it looks at the Lease only from now on.
type observedLock struct {
	*resourcelock.LeaseLock
	observer *observer
}

func (l observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	// The observed Lease may be old, as after a watch that stood still: it counts only if it is still the same.
	known, found := l.observer.get(l.LeaseMeta.Name)
	if found && known.holder() == record.HolderIdentity && known.Spec.RenewTime != nil &&
		known.Spec.RenewTime.Time.Equal(record.RenewTime.Time) && known.isExpired(time.Now()) {
		record.HolderIdentity = ""
	}
	return record, raw, nil
}
