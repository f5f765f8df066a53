package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// imposeQuota lets only so many pods into a namespace.
func (a *arena) imposeQuota(namespace string, pods int) (lift func()) {
	lift = a.impose(fmt.Sprintf("{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: %s}, spec: {hard: {pods: %d}}}", namespace, pods))
	a.await("the quota to be in force", time.Minute, func() (string, bool) {
		out, err := a.cluster.Kubectl(a.ctx, "get", "quota", "few", "--namespace", namespace, "-o", "jsonpath={.status.hard.pods}")
		return out, err == nil && out == fmt.Sprint(pods)
	})
	return lift
}

// imposePodSecurity lets only pods in that ask for no rights at all, which ours do not say.
func (a *arena) imposePodSecurity() (lift func()) {
	const label = "pod-security.kubernetes.io/enforce"
	set := func(change string) {
		_, err := a.cluster.Kubectl(a.ctx, "label", "--overwrite", "namespace", a.namespace, change)
		a.must(err)
	}
	set(label + "=restricted")
	a.awaitDenial()
	return func() { set(label + "-") }
}

// imposePolicy lets no pods in.
func (a *arena) imposePolicy() (lift func()) {
	lift = a.imposeDenial(denial{operation: "CREATE", resource: "pods", who: "true", words: "no pods today"})
	a.awaitDenial()
	return lift
}

// denial is what an admission policy refuses.
type denial struct {
	// group, operation and resource are as in a ValidatingAdmissionPolicy.
	group, operation, resource string
	// who is whom it is refused, as an expression about the request.
	who string
	// words are in what the API server says.
	words string
}

// imposeDenial makes the policy for the arena's namespace. It is in force a little later.
func (a *arena) imposeDenial(d denial) (lift func()) {
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
	return a.impose(fmt.Sprintf(policy, a.namespace, d.group, d.operation, d.resource, d.who, d.words))
}

// impose makes objects, and returns what takes them away again, however the run ends.
func (a *arena) impose(manifest string) (lift func()) {
	_, err := a.cluster.KubectlWith(a.ctx, manifest, "apply", "-f", "-")
	a.must(err)
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), time.Minute)
		defer cancel()
		_, err := a.cluster.KubectlWith(ctx, manifest, "delete", "--ignore-not-found", "--wait=false", "-f", "-")
		a.must(err)
	})
}

// awaitDenial waits until no pod can be made: rules reach the API server's caches a little later.
func (a *arena) awaitDenial() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: (ownerOptions{}).template(nil).Spec}
	a.await("pods to be refused", time.Minute, func() (string, bool) {
		_, err := a.cluster.Kube.CoreV1().Pods(a.namespace).Create(a.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return fmt.Sprint(err), apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	})
}
