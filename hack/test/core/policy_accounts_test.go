//go:build e2e

package core

import (
	"fmt"
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
)

// The controllers of Kubernetes may not create pods, but the policy lets them write PodManagers. The audit log shows that each of them has written
// under its own account.
func TestPodRightsOfKubernetes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		account, write string
		act            func(s *space)
	}{
		"foreground deletion": {"generic-garbage-collector", "patch podmanagers", func(s *space) {
			s.Kubectl("delete", "pm", "web", "--cascade=foreground", "--timeout=3m")
			s.Await("the pods to be gone", func() (any, bool) { left := podNames(s.AllPods()); return left, len(left) == 0 })
		}},
		"orphans": {"generic-garbage-collector", "patch podmanagers", func(s *space) {
			s.Kubectl("delete", "pm", "web", "--cascade=orphan", "--timeout=3m")
			if got := len(s.Pods()); got != 1 {
				s.T.Errorf("%d pods are left, want 1", got)
			}
		}},
		"autoscaling": {"horizontal-pod-autoscaler", "update podmanagers/scale", func(s *space) {
			_, err := shared.kube.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Create(s.Ctx, autoscaler("web", 2, 3), metav1.CreateOptions{})
			if err != nil {
				s.T.Fatal(err)
			}
			s.awaitScaled("web", 2)
		}},
		"deletion of the namespace": {"namespace-controller", "deletecollection podmanagers", func(s *space) {
			s.Kubectl("delete", "namespace", s.Name, "--wait=false")
			s.AwaitFor(2*harness.Patience, "the namespace to be gone", func() (any, bool) {
				namespace, err := shared.kube.CoreV1().Namespaces().Get(s.Ctx, s.Name, metav1.GetOptions{})
				return namespace.Status, apierrors.IsNotFound(err)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			log := s.openAudit()
			s.grant("jane", "create", "podmanagers")
			s.awaitPodRights("jane") // the policy is in force
			s.mayNotCreatePods(test.account)
			s.apply("web", "{replicas: 1, image: nginx}")
			s.awaitReady("web", 1)
			test.act(s)
			s.awaitWrite(log, test.account, test.write)
		})
	}
}

func systemAccount(name string) string { return "system:serviceaccount:kube-system:" + name }

// mayNotCreatePods checks that an account lacks the permission that the policy requires.
func (s *space) mayNotCreatePods(account string) {
	s.T.Helper()
	review, err := shared.kube.AuthorizationV1().SubjectAccessReviews().Create(s.Ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: systemAccount(account), Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.Name, Verb: "create", Resource: "pods"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	if review.Status.Allowed {
		s.T.Errorf("%s may create pods: the test shows nothing", account)
	}
}

// awaitWrite waits until the audit log has an account's write in the namespace, and checks that none was refused.
func (s *space) awaitWrite(log *audit.Log, account, write string) {
	s.T.Helper()
	seen := map[string]int{}
	s.Await(fmt.Sprintf("%s to %s", account, write), func() (any, bool) {
		requests, err := log.Read(s.Name, systemAccount(account))
		if err != nil {
			s.T.Fatal(err)
		}
		for _, r := range requests {
			if r.ResponseStatus.Code == http.StatusForbidden {
				s.T.Errorf("refused: %v", r)
			}
			seen[r.What()]++
		}
		return seen, seen[write] > 0
	})
}
