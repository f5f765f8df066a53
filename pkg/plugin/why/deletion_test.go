package why_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/why"
)

// why names what keeps a PodManager that is being deleted: the pods that still terminate, and each finalizer with the client that removes it.
func TestDeletion(t *testing.T) {
	const orphan, foreground = metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents
	const lead = "The PodManager is being deleted, and waits "
	const listPods, check = "kubectl get pods -l podmanager=web -n ns", "kubectl pm check web -n ns"
	const show = "kubectl get pm web -o yaml --show-managed-fields -n ns"
	paced := func(m *v1.PodManager) { m.Spec.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(1))} }
	ending := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Now.Add(20 * time.Second)} }
	four := []*corev1.Pod{Pod(0, ending), Pod(1, ending, kept), Pod(2, ending), Pod(3, ending)}
	tests := map[string]struct {
		finalizers            []string
		change                []func(*v1.PodManager)
		pods                  []*corev1.Pod
		cause, evidence, next string
	}{
		"at a limited pace": {[]string{v1.Finalizer}, []func(*v1.PodManager){paced}, []*corev1.Pod{Pod(0), Pod(1), Pod(2, ending)}, lead + "for its pods: being deleted, 3 pods left.",
			"finalizer " + v1.Finalizer + ": the controller removes it when all pods are gone|pod web-2: terminating, ends within 20s|pods that are not terminating yet: 2", listPods},
		"in the foreground": {[]string{foreground}, nil, four, lead + "for its pods: being deleted, 4 pods left.",
			"finalizer foregroundDeletion: the garbage collector removes it when all pods and revisions are gone|pod web-0: terminating, ends within 20s|" +
				"pod web-1: terminating, ends within 20s; finalizers: example.com/a|pod web-2: terminating, ends within 20s|further terminating pods: 1", listPods},
		"a pod that does not end": {[]string{foreground}, nil, []*corev1.Pod{Pod(0, endless)}, lead + "for its pods: being deleted, 1 pod left.",
			"pod web-0: terminating, and should have been gone by 2026-01-02T02:04:05Z: check whether node node-0 is ready|finalizer foregroundDeletion: " +
				"the garbage collector removes it when all pods and revisions are gone", listPods},
		"pods that are kept": {[]string{orphan}, nil, Pods3(), lead + "until the garbage collector has released its pods: being deleted, 3 pods left.",
			"finalizer orphan: the garbage collector removes it when no pod and no revision has this owner any more|pods that are not released yet: 3", listPods},
		"another finalizer": {[]string{"example.com/x", "example.com/y"}, nil, Pods3(), lead + "for its finalizers: being deleted, 3 pods left.",
			"finalizer example.com/x: the client that has set it has to remove it|finalizer example.com/y: the client that has set it has to remove it|" +
				"pods that are not terminating yet: 3", show},
		"all pods are gone": {[]string{v1.Finalizer, foreground}, []func(*v1.PodManager){paced}, nil, lead + "for its finalizers: being deleted, 0 pods left.",
			"finalizer " + v1.Finalizer + ": the controller removes it when all pods are gone|" +
				"finalizer foregroundDeletion: the garbage collector removes it when all pods and revisions are gone",
			check + "|kubectl get controllerrevisions -l podmanager=web -n ns"},
		"pods were updated in place": {[]string{v1.Finalizer}, []func(*v1.PodManager){InPlace(v1.InPlaceIfPossible, 5)}, []*corev1.Pod{Pod(0)},
			lead + "for its finalizers: being deleted, 1 pod left.", "finalizer " + v1.Finalizer +
				": the controller removes it when all pods are back in their Services|pods that are not terminating yet: 1", check},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Manager(3, append(test.change, Deleting)...)
			m.Finalizers = test.finalizers
			got := Find(seen(Observe(m, test.pods...)))
			if got.Cause != test.cause || strings.Join(got.Evidence, "|") != test.evidence || strings.Join(got.Next, "|") != test.next {
				t.Errorf("got  %q\n%q\n%q\nwant %q\n%q\n%q", got.Cause, strings.Join(got.Evidence, "|"), got.Next, test.cause, test.evidence, test.next)
			}
		})
	}
}
