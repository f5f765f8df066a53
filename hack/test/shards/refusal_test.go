//go:build e2e

package shards

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// noShards refuses pods with a shard label in one namespace.
const noShards = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods]}]
  validations: [{expression: "!('apps.mycompany.com/shard' in object.metadata.labels)", message: no shards today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// A policy refuses the controller's patch that restores the shard label. The status reports the refusal, and the controller retries with backoff. It
// succeeds when the policy is gone.
func TestLabelIsRefused(t *testing.T) {
	c := newReplicaGroup(t)
	c.start(4)
	c.create(1, 2)
	c.awaitReady(2)
	before := c.uids()
	policy := fmt.Sprintf(noShards, c.Name)
	lift := func() {
		_, err := cluster.KubectlWith(context.Background(), policy, "delete", "--ignore-not-found", "-f", "-")
		if err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(lift)
	if _, err := cluster.KubectlWith(c.Ctx, policy, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	label := func(value string, options metav1.PatchOptions) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, v1.LabelShard, value)
		_, err := cluster.Kube.CoreV1().Pods(c.Name).Patch(c.Ctx, "web-0-1", types.MergePatchType, []byte(patch), options)
		return err
	}
	c.await("the policy to be in force", harness.Patience, func() (any, bool) {
		err := label(`"x"`, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err, apierrors.IsInvalid(err)
	})
	log, err := audit.Open(os.Getenv("PODMANAGER_AUDIT_LOG"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	if err := label("null", metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}

	c.await("the status to report the refusal", harness.Patience, func() (any, bool) {
		failure := meta.FindStatusCondition(c.managers()[0].Status.Conditions, v1.ConditionReplicaFailure)
		return failure, failure != nil && failure.Status == metav1.ConditionTrue && failure.Reason == v1.ReasonFailedClaim && strings.Contains(failure.Message, "no shards today")
	})
	var refusals []time.Time
	// The controller takes the first refusal for a possible concurrent change: it retries at once, after a live read.
	c.await("four refusals", harness.Patience, func() (any, bool) {
		refusals = append(refusals, c.refusals(log)...)
		return refusals, len(refusals) >= 4
	})
	if between := refusals[3].Sub(refusals[1]); between < 3*time.Second {
		t.Errorf("refused at %v: the fourth time came %v after the second, want a backoff of 1 s and 2 s", refusals, between)
	}
	lift()
	c.awaitLabels(4)
	c.await("the status to report no refusal any more", harness.Patience, func() (any, bool) {
		failure := meta.FindStatusCondition(c.managers()[0].Status.Conditions, v1.ConditionReplicaFailure)
		return failure, failure == nil || failure.Status != metav1.ConditionTrue
	})
	c.awaitReady(2)
	c.wantSame(before)
}

// refusals returns the times of the controller's patches of pods that were refused since the last call.
func (c *replicaGroup) refusals(log *audit.Log) (times []time.Time) {
	c.T.Helper()
	requests, err := log.Read(c.Name)
	if err != nil {
		c.T.Fatal(err)
	}
	for _, r := range requests {
		if r.What() == "patch pods" && r.ObjectRef.Namespace == c.Name && strings.HasPrefix(r.UserAgent, "podmanager-controller/") && !r.Succeeded() {
			times = append(times, r.Received)
		}
	}
	return times
}
