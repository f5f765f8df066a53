package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/chaos/arena"
)

// imposeQuota limits the number of pods in a namespace.
func (a scene) imposeQuota(namespace string, pods int) (lift func()) {
	lift = a.impose(fmt.Sprintf("{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: %s}, spec: {hard: {pods: %d}}}", namespace, pods))
	a.Await("the quota to be in force", func() (string, bool) {
		out, err := a.Cluster.Kubectl(a.Ctx, "get", "quota", "few", "--namespace", namespace, "-o", "jsonpath={.status.hard.pods}")
		return out, err == nil && out == fmt.Sprint(pods)
	})
	return lift
}

// imposePodSecurity enforces the restricted Pod Security level, which our pods do not satisfy.
func (a scene) imposePodSecurity() (lift func()) {
	const label = "pod-security.kubernetes.io/enforce"
	set := func(change string) {
		_, err := a.Cluster.Kubectl(a.Ctx, "label", "--overwrite", "namespace", a.Namespace, change)
		a.Must(err)
	}
	set(label + "=restricted")
	a.awaitDenial()
	return func() { set(label + "-") }
}

// imposePolicy refuses all pods.
func (a scene) imposePolicy() (lift func()) {
	lift = a.imposeDenial(denial{operation: "CREATE", resource: "pods", who: "true", words: "no pods today"})
	a.awaitDenial()
	return lift
}

// denial is an admission policy.
type denial struct {
	// group, operation and resource are those of the ValidatingAdmissionPolicy.
	group, operation, resource string
	// who is an expression about the request that selects whose requests are refused.
	who string
	// words are a part of the API server's message.
	words string
}

// imposeDenial creates the policy for the arena's namespace. It is in force a little later.
func (a scene) imposeDenial(d denial) (lift func()) {
	const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [%[2]q], apiVersions: [v1], operations: [%[3]s], resources: [%[4]s]}]}
  matchConditions: [{name: who, expression: %[5]q}]
  validations: [{expression: "false", message: %[6]s}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}
`
	return a.impose(fmt.Sprintf(policy, a.Namespace, d.group, d.operation, d.resource, d.who, d.words))
}

// impose creates objects, and returns the function that deletes them, however the run ends.
func (a scene) impose(manifest string) (lift func()) {
	_, err := a.Cluster.KubectlWith(a.Ctx, manifest, "apply", "-f", "-")
	a.Must(err)
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.Ctx), time.Minute)
		defer cancel()
		_, err := a.Cluster.KubectlWith(ctx, manifest, "delete", "--ignore-not-found", "--wait=false", "-f", "-")
		a.Must(err)
	})
}

// awaitDenial waits until no pod can be created: rules reach the API server's caches a little later.
func (a scene) awaitDenial() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: (arena.OwnerOptions{}).Template(nil).Spec}
	a.Await("pods to be refused", func() (string, bool) {
		_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Create(a.Ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return fmt.Sprint(err), apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	})
}
