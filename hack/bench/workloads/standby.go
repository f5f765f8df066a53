package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
)

// The Lease of our controller, as artifacts/rbac.yaml allows it.
const leaseSpace, leaseName = "podmanager-system", "podmanager-controller"

// runStandby lets a standby see very many pod events. It must not keep anything of them. There is no peer to compare with, because a standby of the
// ReplicaSet controller does not watch before it leads.
func (b *Bench) runStandby(ctx context.Context) error {
	s, err := b.begin(ctx, b.managers, 1)
	if err != nil {
		return err
	}
	return errors.Join(s.measureStandby(ctx), s.leave(ctx))
}

func (s *step) measureStandby(ctx context.Context) error {
	owners := s.sizes.Tens
	for i := range owners {
		if err := s.createIdle(ctx, s.spaces[0], i, replicasOfMany); err != nil {
			return err
		}
	}
	there := s.censuses.Pods.Expect(census.AllExist(owners*replicasOfMany), s.spaces...)
	if _, err := there.Await(ctx, patience, "the pods exist"); err != nil {
		return err
	}
	if _, err := s.awaitStatuses(ctx, census.AllCounted(owners), "the statuses count the pods"); err != nil {
		return err
	}
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	if err := s.takeLease(ctx); err != nil {
		return err
	}
	err := s.measureEvents(ctx)
	return errors.Join(err, s.kube.CoordinationV1().Leases(leaseSpace).Delete(context.WithoutCancel(ctx), leaseName, metav1.DeleteOptions{}))
}

// takeLease makes the bench the leader for longer than the workload takes, so that other candidates stay on standby.
func (s *step) takeLease(ctx context.Context) error {
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("bench"), AcquireTime: &now, RenewTime: &now,
		LeaseDurationSeconds: ptr.To(int32(2 * patience.Seconds())),
	}}
	_, err := s.kube.CoordinationV1().Leases(leaseSpace).Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// measureEvents measures the memory after some events, when the process has reached its working size, and again after very many.
func (s *step) measureEvents(ctx context.Context) error {
	candidate := *s.managers
	candidate.flags = append(slices.Clone(candidate.flags), "-leader-elect", "-leader-elect-resource-namespace", leaseSpace)
	s.contender = &candidate
	if err := s.restart(ctx); err != nil {
		return err
	}
	few := max(1, s.sizes.Events/20)
	for _, part := range []struct {
		workload string
		events   int
	}{{figures.StandbyBefore, few}, {figures.Standby, s.sizes.Events}} {
		if err := s.mark(ctx); err != nil {
			return err
		}
		// This annotation matters: for a leader, it would start a sync of the PodManager.
		if err := s.disturb(ctx, s.spaces[0], part.events, corev1.PodDeletionCost); err != nil {
			return err
		}
		if err := s.rest(ctx); err != nil {
			return err
		}
		taken, err := s.take(ctx, figures.Values{})
		if err != nil {
			return err
		}
		if taken.Values[figures.Writes] > 0 {
			return fmt.Errorf("the process is not a standby: it has written %v", taken.Requests)
		}
		s.add(part.workload, fmt.Sprintf("standby after %d events", part.events), taken, figures.Memory, figures.CPUTime)
	}
	return nil
}
