//go:build e2e

package monitoring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
)

const (
	systemSpace = "podmanager-system"
	lease       = "podmanager-controller"
)

// namespace is a test's namespace.
type namespace struct {
	*harness.Space
}

func newNamespace(t *testing.T) namespace {
	t.Helper()
	return namespace{harness.NewSpace(t, shared.cluster)}
}

// apply applies a PodManager with a spec in YAML's flow style.
func (n namespace) apply(name, spec string) {
	n.T.Helper()
	n.Apply(harness.Manifest(name, "", spec))
}

func (n namespace) awaitReady(name string) {
	n.T.Helper()
	n.Await(name+" to be Ready", func() (any, bool) {
		manager := n.Manager(name)
		return harness.Brief(manager), harness.IsReady(manager)
	})
}

// awaitFiring waits until an alert with these labels fires, and fails the test if the alert was never pending. It asks Prometheus for the past,
// because on a slow machine the polls may miss the time when the alert was pending.
func awaitFiring(t *testing.T, labels map[string]string) monitoring.ActiveAlert {
	t.Helper()
	var alert monitoring.ActiveAlert
	harness.Await(t, fmt.Sprint(labels, " to fire"), func() (any, bool) {
		found, err := active(t, labels)
		if err != nil || len(found) == 0 {
			return err, false
		}
		alert = found[0]
		return found, alert.State == "firing"
	})
	selector := `ALERTS{alertstate="pending"`
	for name, value := range labels {
		selector += fmt.Sprintf(",%s=%q", name, value)
	}
	if pending, err := shared.prometheus.Series(t.Context(), selector+"}"); err != nil || len(pending) == 0 {
		t.Errorf("%v fires, and was never pending; error %v", labels, err)
	}
	return alert
}

// awaitOver waits until no alert with these labels is pending or firing.
func awaitOver(t *testing.T, labels map[string]string) {
	t.Helper()
	harness.Await(t, fmt.Sprint(labels, " to be over"), func() (any, bool) {
		found, err := active(t, labels)
		return found, err == nil && len(found) == 0
	})
}

// active returns the alerts with these labels that are pending or firing.
func active(t *testing.T, labels map[string]string) ([]monitoring.ActiveAlert, error) {
	t.Helper()
	all, err := shared.prometheus.Alerts(t.Context())
	return slices.DeleteFunc(all, func(alert monitoring.ActiveAlert) bool {
		for name, value := range labels {
			if alert.Labels[name] != value {
				return true
			}
		}
		return false
	}), err
}

// A rollout whose image does not exist is halted, which fires an alert. Once it is fixed, the alert is over.
func TestBrokenRollout(t *testing.T) {
	namespace := newNamespace(t)
	spec := func(image string) string {
		return "{replicas: 2, image: '" + image + "', failurePolicy: {gracePeriodSeconds: 1}}"
	}
	namespace.apply("web", spec("nginx:1"))
	namespace.apply("other", spec("nginx:1"))
	namespace.awaitReady("web")
	namespace.awaitReady("other")
	ours := map[string]string{"namespace": namespace.Name}
	awaitOver(t, ours)

	namespace.apply("web", spec("nginx:does-not-exist"))
	alert := awaitFiring(t, map[string]string{"alertname": "PodManagerStalled", "namespace": namespace.Name, "podmanager": "web"})
	for annotation, part := range map[string]string{
		"description": namespace.Name + "/web has been Stalled for 5 minutes (reason RolloutHalted)",
		"runbook":     "kubectl pm why web -n " + namespace.Name,
	} {
		if !strings.Contains(alert.Annotations[annotation], part) {
			t.Errorf("%s is %q, and lacks %q", annotation, alert.Annotations[annotation], part)
		}
	}
	if found, err := active(t, map[string]string{"namespace": namespace.Name, "podmanager": "other"}); err != nil || len(found) > 0 {
		t.Errorf("there are alerts for a PodManager without a fault: %v, error %v", found, err)
	}
	namespace.apply("web", spec("nginx:2"))
	namespace.awaitReady("web")
	awaitOver(t, ours)
}

// An alert fires if the controller is killed. Another alert fires if it runs without leading.
func TestControllerGoesAway(t *testing.T) {
	absent, noLeader := map[string]string{"alertname": "PodManagerControllerAbsent"}, map[string]string{"alertname": "PodManagerNoLeader"}
	awaitOver(t, absent)
	awaitOver(t, noLeader)
	if err := shared.controller.Kill(); err != nil {
		t.Fatal(err)
	}
	if alert := awaitFiring(t, absent); alert.Labels["job"] != monitoring.Job || alert.Labels["severity"] != "critical" {
		t.Errorf("the alert has the labels %v", alert.Labels)
	}
	if found, err := active(t, noLeader); err != nil || len(found) > 0 {
		t.Errorf("no controller runs, and there is the alert that none leads: %v, error %v", found, err)
	}
	holdLease(t, lease, "somebody-else")
	if err := startController(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitOver(t, absent)
	if alert := awaitFiring(t, noLeader); alert.Labels["name"] != lease {
		t.Errorf("the alert has the labels %v", alert.Labels)
	}
	if err := shared.cluster.Kube.CoordinationV1().Leases(systemSpace).Delete(t.Context(), lease, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitOver(t, noLeader)
}

// shareShards restarts the controller with two shards and more flags, and waits until it holds both shards. When the test ends, shareShards restarts
// it without shards, as a single leader.
func shareShards(t *testing.T, flags ...string) {
	t.Helper()
	restart := func(ctx context.Context, flags ...string) {
		t.Helper()
		if err := shared.controller.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := startController(ctx, flags...); err != nil {
			t.Fatal(err)
		}
	}
	restart(t.Context(), append(flags, "-shards=2")...)
	t.Cleanup(func() { restart(context.Background()) })
	harness.Await(t, "both shards to be held", func() (any, bool) {
		ready, err := shared.controller.Ready()
		return fmt.Sprint(ready, err), strings.Contains(ready, "holds 2 of 2")
	})
	harness.Await(t, "Prometheus to know shards", func() (any, bool) {
		series, err := shared.prometheus.Series(t.Context(), "podmanager_shard_owner")
		return series, err == nil && len(series) == 2
	})
}

// An alert fires for a shard that no replica of the group holds, but not for the leader.
func TestShardUnowned(t *testing.T) {
	unowned := map[string]string{"alertname": "PodManagerShardUnowned"}
	shareShards(t)
	awaitOver(t, unowned)
	const stolen = lease + "-shard-1-of-2"
	holdLease(t, stolen, "somebody-else")
	// On a slow machine the group may lose the other shard for a moment, too.
	if alert := awaitFiring(t, map[string]string{"alertname": unowned["alertname"], "shard": "1-of-2"}); alert.Labels["severity"] != "critical" {
		t.Errorf("the alert has the labels %v", alert.Labels)
	}
	if found, err := active(t, map[string]string{"alertname": "PodManagerNoLeader"}); err != nil || len(found) > 0 {
		t.Errorf("there is an alert about the leader, too: %v, error %v", found, err)
	}
	if err := shared.cluster.Kube.CoordinationV1().Leases(systemSpace).Delete(t.Context(), stolen, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitOver(t, unowned)
}

// holdLease makes another holder hold a Lease for an hour.
func holdLease(t *testing.T, name, holder string) {
	t.Helper()
	leases := shared.cluster.Kube.CoordinationV1().Leases(systemSpace)
	if err := leases.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	now := metav1.NowMicro()
	_, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: &now, AcquireTime: &now},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
