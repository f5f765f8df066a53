//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/access"
)

// permitWithoutResizeAndDrain grants an account the permissions that a controller with -resize-and-drain=false needs, and no others.
func (s *space) permitWithoutResizeAndDrain(account string) {
	s.T.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "limited"}}
	for _, right := range access.WithoutResizeAndDrain {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{right.Group}, Resources: []string{right.Resource}, Verbs: []string{right.Verb}})
	}
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}})
	if _, err := shared.kube.RbacV1().Roles(s.Name).Create(s.Ctx, role, metav1.CreateOptions{}); err != nil {
		s.T.Fatal(err)
	}
	s.Kubectl("create", "rolebinding", "limited", "--role", "limited", "--serviceaccount", account)
	s.Await("the API server to know the permissions", func() (any, bool) {
		review, err := shared.kube.AuthorizationV1().SubjectAccessReviews().Create(s.Ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + account,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.Name, Verb: "get", Resource: "namespaces"},
			},
		}, metav1.CreateOptions{})
		return review, err == nil && review.Status.Allowed
	})
}

// A controller that runs with -resize-and-drain=false needs no permission to patch pods/resize and pods/status, and reports no error without it. A
// resize replaces pods, or is reported as impossible. An image changes in place, but the pod is not taken out of its Services before.
func TestWithoutResizeAndDrain(t *testing.T) {
	s := newSpace(t)
	account, kubeconfig := s.account()
	s.permitWithoutResizeAndDrain(account)
	log := s.openAudit()
	p := s.launch("-kubeconfig", kubeconfig, "-namespace", s.Name, "-resize-and-drain=false")

	limits := fmt.Sprintf(inPlacePolicy+", inPlaceGracePeriodSeconds: 5", v1.InPlaceIfPossible)
	s.applyPrivate("web", rolloutSpec(2, limits, sized("a:1", "requests: {cpu: 100m}", "")))
	s.awaitReady("web", 2)
	before := s.Pods()
	s.applyPrivate("web", rolloutSpec(2, limits, sized("a:2", "requests: {cpu: 100m}", "")))
	s.awaitInPlace(before)
	if notes := s.awaitEvents("web", v1.EventUpdated, v1.EventUpdated); !strings.Contains(notes, "without being taken out of service first: the controller runs with -resize-and-drain=false") {
		t.Errorf("the events do not say that the pods were not drained:\n%s", notes)
	}

	s.applyPrivate("web", rolloutSpec(2, limits, sized("a:2", "requests: {cpu: 200m}", "")))
	s.awaitReady("web", 2)
	old := uids(before)
	for _, pod := range s.Pods() {
		if pod.UID == old[pod.Name] || pod.Spec.Containers[0].Resources.Requests.Cpu().String() != "200m" {
			t.Errorf("%s was not replaced: it asks for %s", pod.Name, pod.Spec.Containers[0].Resources.Requests.Cpu())
		}
	}

	only := fmt.Sprintf(inPlacePolicy, v1.InPlaceOnly)
	s.applyPrivate("web", rolloutSpec(2, only, sized("a:2", "requests: {cpu: 300m}", "")))
	s.Await("the reason why no pod is updated in place", func() (any, bool) {
		ready := s.Condition("web", v1.ConditionReady)
		return ready, ready.Reason == v1.ReasonNotInPlace && strings.Contains(ready.Message, "the controller runs with -resize-and-drain=false")
	})
	if lines := append(logged(t, p, "rbac.yaml"), logged(t, p, "not all of it works")...); len(lines) > 0 {
		t.Errorf("the log has advice about permissions that this controller does without: %q", lines)
	}
	s.asksForNothingElse(log, account)
}

// asksForNothingElse checks that the account has patched no subresource of pods, and that none of its requests was refused.
func (s *space) asksForNothingElse(log *audit.Log, account string) {
	s.T.Helper()
	requests, err := log.Read(account)
	if err != nil {
		s.T.Fatal(err)
	}
	patches := 0
	for _, r := range requests {
		if r.User.Username != "system:serviceaccount:"+account {
			continue
		}
		if r.IsForbidden() || r.ObjectRef.Resource == "pods" && r.ObjectRef.Subresource != "" {
			s.T.Errorf("the controller has sent a request for which it has no permission: %v", r)
		}
		if r.What() == "patch pods" {
			patches++
		}
	}
	if patches < 2 {
		s.T.Errorf("the audit log has only %d patches of pods by %s", patches, account)
	}
}
