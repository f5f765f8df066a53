package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// drained is a PodManager that only nodes disturb. Its PodDisruptionBudget requires all of its pods to be available.
	drained, drainedReplicas = testenv.CanaryPrefix + "web", 3
	// poolSize is the number of nodes that the scenario has for itself.
	poolSize = 4
	// nodeLimit is how long a drain, or the replacement of the pods of a lost node, may take. Controllers are killed meanwhile.
	nodeLimit = time.Minute
)

// drainsAndLosses drains nodes and disconnects them, while users churn and the controller is killed. All pods run on nodes that only this scenario
// uses. Each drain has to end, and at no time may fewer pods serve than the PodDisruptionBudget requires. The pods of a lost node have to be
// replaced.
func drainsAndLosses(a scene) {
	rounds := 10
	if a.Short {
		rounds = 3
	}
	pool := a.addNodes()
	defer pool.remove()
	a.Vary = pool.place
	a.Start()
	options := testenv.OwnerOptions{}
	pool.place(&options)
	a.Create(drained, drainedReplicas, options)
	minAvailable := intstr.FromInt32(drainedReplicas)
	_, err := a.Cluster.Kube.PolicyV1().PodDisruptionBudgets(a.Namespace).Create(a.Ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: drained},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &minAvailable,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: drained}}},
	}, metav1.CreateOptions{})
	a.Must(err)
	a.awaitCalm()
	kills := rand.New(rand.NewPCG(a.Random.Uint64(), 0)) // at the same time as the drains
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	a.InParallel(func() { a.Churn(ctx) }, func() {
		defer cancel()
		for range rounds {
			pool.drain(pool.choose())
			lab.Pause(ctx, time.Duration(a.Random.IntN(1000))*time.Millisecond)
			pool.lose(pool.choose())
			lab.Pause(ctx, time.Duration(a.Random.IntN(1000))*time.Millisecond)
		}
	}, func() {
		for lab.Pause(ctx, time.Duration(500+kills.IntN(3000))*time.Millisecond) {
			a.Restart()
		}
	})
	a.Settle()
	a.Judge()
}

// pool has the nodes of a scenario.
type pool struct {
	scene
	key   string // of the label and the taint that keep other pods away
	names []string
}

func (a scene) addNodes() *pool {
	p := &pool{scene: a, key: "test.mycompany.com/" + a.Namespace}
	for i := range poolSize {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", a.Namespace, i), Labels: map[string]string{p.key: ""},
				Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: p.key, Effect: corev1.TaintEffectNoSchedule}}},
		}
		_, err := a.Cluster.Kube.CoreV1().Nodes().Create(a.Ctx, node, metav1.CreateOptions{})
		a.Must(err)
		p.names = append(p.names, node.Name)
	}
	return p
}

func (p *pool) remove() {
	for _, name := range p.names {
		_ = p.Cluster.Kube.CoreV1().Nodes().Delete(context.WithoutCancel(p.Ctx), name, metav1.DeleteOptions{})
	}
}

// place makes an owner's pods run only on the pool's nodes. The controller replaces them before they are gone when their node is drained or lost.
func (p *pool) place(options *testenv.OwnerOptions) {
	spec := options.Spec
	options.Spec = func(s *v1.PodManagerSpec) {
		if spec != nil {
			spec(s)
		}
		s.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain,
			NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](2), ForceDeleteAfterSeconds: ptr.To[int32](4)}}
	}
	options.Pod = func(template *corev1.PodTemplateSpec) {
		template.Spec.NodeSelector = map[string]string{p.key: ""}
		template.Spec.Tolerations = []corev1.Toleration{{Key: p.key, Operator: corev1.TolerationOpExists}}
	}
}

// choose returns a node with a pod of the PodManager that only nodes disturb.
func (p *pool) choose() string {
	pods := p.PodsOf(drained)
	return pods[p.Random.IntN(len(pods))].Spec.NodeName
}

// drain cordons a node, evicts its pods until none is left, as kubectl drain does, and uncordons it.
func (p *pool) drain(node string) {
	p.patch(node, `{"spec":{"unschedulable":true}}`)
	p.Logf("cordoned %s", node)
	began := time.Now()
	p.expect("I3", node, "the drain to end", nodeLimit, func() (string, bool) {
		left := p.podsOn(node)
		for _, pod := range left {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, DeleteOptions: unlessChanged(&pod)}
			_ = p.Cluster.Kube.PolicyV1().Evictions(p.Namespace).Evict(p.Ctx, eviction) // the budget may refuse it
		}
		if serving := p.serving(); serving < drainedReplicas {
			p.Violate(faults.Violation{Invariant: "I7", Object: drained, What: fmt.Sprintf("%d of %d pods serve during a drain", serving, drainedReplicas)})
		}
		return fmt.Sprint(len(left), " pods are left"), len(left) == 0
	})
	p.Logf("drained %s in %v", node, time.Since(began).Round(time.Millisecond))
	p.patch(node, `{"spec":{"unschedulable":null}}`)
}

// lose disconnects a node, waits until its pods are replaced, and deletes them. Then the node is back, as after a reboot.
func (p *pool) lose(node string) {
	p.patch(node, `{"metadata":{"annotations":{"simulate.podmanager/lost":""}}}`)
	p.setReady(node, corev1.ConditionUnknown)
	for _, pod := range p.podsOn(node) {
		p.patchPodStatus(pod, `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"NodeLost"}]}}`)
	}
	p.Logf("lost %s", node)
	p.expect("I3", drained, "the pods of the lost node to be replaced", nodeLimit, func() (string, bool) {
		serving := p.serving()
		return fmt.Sprint(serving, " pods serve"), serving >= drainedReplicas
	})
	p.expect("I3", node, "the pods of the lost node to be gone", nodeLimit, func() (string, bool) {
		left := p.podsOn(node)
		for _, pod := range left {
			options := cmp.Or(unlessChanged(&pod), &metav1.DeleteOptions{})
			options.GracePeriodSeconds = ptr.To[int64](0)
			_ = p.Cluster.Kube.CoreV1().Pods(p.Namespace).Delete(p.Ctx, pod.Name, *options) // tried again if it is refused
		}
		return fmt.Sprint(len(left), " pods are left"), len(left) == 0
	})
	p.patch(node, `{"metadata":{"annotations":{"simulate.podmanager/lost":null}}}`)
	p.setReady(node, corev1.ConditionTrue)
	p.Logf("%s is back", node)
}

// unlessChanged returns options that delete a pod only if it has not changed since it was read. A user may have turned it into a decoy in the
// meantime, and the scenario must not delete decoys. Pods with a PodDisruptionBudget are evicted without this condition, because users do not touch
// them. If the condition failed, the budget would still count the pod as evicted for minutes.
func unlessChanged(pod *corev1.Pod) *metav1.DeleteOptions {
	if strings.HasPrefix(pod.Name, testenv.CanaryPrefix) {
		return nil
	}
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}}
}

// podsOn returns the pods on a node, except for decoys: no client may touch these after their owners have released them.
func (p *pool) podsOn(node string) (pods []corev1.Pod) {
	p.Insist(func() error {
		list, err := p.Cluster.Kube.CoreV1().Pods(p.Namespace).List(p.Ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
		if err == nil {
			pods = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
				_, isDecoy := pod.Labels[faults.DecoyLabel]
				return isDecoy
			})
		}
		return err
	})
	return pods
}

// serving returns how many pods of the PodManager that only nodes disturb are ready and not terminating.
func (p *pool) serving() (count int) {
	for _, pod := range p.PodsOf(drained) {
		if testenv.IsReady(&pod) {
			count++
		}
	}
	return count
}

func (p *pool) patch(node, patch string) {
	p.Insist(func() error {
		_, err := p.Cluster.Kube.CoreV1().Nodes().Patch(p.Ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

func (p *pool) setReady(node string, ready corev1.ConditionStatus) {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Chaos","lastHeartbeatTime":%[2]q,"lastTransitionTime":%[2]q}]}}`,
		ready, time.Now().UTC().Format(time.RFC3339))
	p.Insist(func() error {
		_, err := p.Cluster.Kube.CoreV1().Nodes().Patch(p.Ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		return err
	})
}

func (p *pool) patchPodStatus(pod corev1.Pod, patch string) {
	p.Insist(func() error {
		_, err := p.Cluster.Kube.CoreV1().Pods(pod.Namespace).Patch(p.Ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		return err
	})
}
