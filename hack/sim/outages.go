package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/dice"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// nodeNames are the nodes of pkg/world/nodes.
var nodeNames = []string{"node-a", "node-b", "node-c", "node-d", "node-e"}

// outage is why a node takes no pods. A restore of the API server does not change it.
type outage string

const (
	cordoned outage = "cordoned"
	lost     outage = "lost"
)

// outageDice returns the dice for the outages of a cluster; nil if it has none. They are separate, so that the outages do not change the rest of a course.
func outageDice(seed uint64) *dice.Dice {
	d := dice.New(seed ^ hashOf("outages"))
	if !d.Chance(0.3) {
		return nil
	}
	return &d
}

// loseNodes lets nodes be drained and lost until the deadline. In the end all nodes are back.
func (c *Cluster) loseNodes(d dice.Dice, deadline time.Time) {
	for pause(c.ctx, upTo(d, time.Minute)) && time.Now().Before(deadline) && !c.judge.isBroken() {
		name := dice.Pick(d, nodeNames...)
		switch before := c.kubelets.outage(name); {
		case before == lost || before == cordoned && d.Chance(0.7):
			c.setOutage(name, "")
		case d.Chance(0.5):
			c.setOutage(name, cordoned)
			c.drain(d, name)
		default:
			c.setOutage(name, lost)
			c.kubelets.markLost(name)
			if d.Chance(0.3) {
				c.evictLost(d, name)
			}
		}
	}
	for _, name := range nodeNames {
		c.setOutage(name, "")
	}
}

// setOutage begins or ends an outage of a node, and writes all Nodes, because a restore may have brought back earlier versions.
func (c *Cluster) setOutage(name string, is outage) {
	if before := c.kubelets.setOutage(name, is); before != is {
		c.story.tell("%s: %q, was %q", name, is, before)
	}
	for _, name := range nodeNames {
		for c.writeNode(name) != nil && pause(c.ctx, time.Second) {
		}
	}
}

// writeNode creates or updates a Node.
func (c *Cluster) writeNode(name string) error {
	client, is, ready := c.kube.CoreV1().Nodes(), c.kubelets.outage(name), corev1.ConditionTrue
	if is == lost {
		ready = corev1.ConditionUnknown
	}
	node, err := client.Get(c.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = client.Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	if err == nil && node.Spec.Unschedulable != (is == cordoned) {
		node.Spec.Unschedulable = is == cordoned
		node, err = client.Update(c.ctx, node, metav1.UpdateOptions{})
	}
	if err != nil || len(node.Status.Conditions) > 0 && node.Status.Conditions[0].Status == ready {
		return err
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.Now()}}
	_, err = client.UpdateStatus(c.ctx, node, metav1.UpdateOptions{})
	return err
}

// drain evicts the pods of a node after a while.
func (c *Cluster) drain(d dice.Dice, name string) {
	after := upTo(d, 90*time.Second)
	c.running.Go(func() {
		for pause(c.ctx, after) && c.kubelets.outage(name) == cordoned && !c.judge.isBroken() {
			for _, pod := range c.kubelets.on(name) {
				if pod.DeletionTimestamp == nil {
					c.story.tell("%s/%s is evicted from %s", pod.Namespace, pod.Name, name)
					_ = c.kube.PolicyV1().Evictions(pod.Namespace).Evict(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})
				}
			}
			after = 10 * time.Second
		}
	})
}

// evictLost lets the node controller delete the pods of a lost node after a while. They stay until their kubelet is back.
func (c *Cluster) evictLost(d dice.Dice, name string) {
	after := 20*time.Second + upTo(d, 5*time.Minute)
	c.running.Go(func() {
		if !pause(c.ctx, after) || c.kubelets.outage(name) != lost {
			return
		}
		for _, pod := range c.kubelets.on(name) {
			c.story.tell("%s/%s is deleted because %s is lost", pod.Namespace, pod.Name, name)
			_ = c.kube.CoreV1().Pods(pod.Namespace).Delete(c.ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		}
	})
}

func (k *kubelets) outage(name string) outage {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.outages[name]
}

// setOutage sets the outage of a node and returns the previous one. It wakes the kubelets: those of a node that is back go on with their pods.
func (k *kubelets) setOutage(name string, is outage) (before outage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, k.outages[name] = k.outages[name], is
	k.wakeAll()
	return before
}

// on returns the pods on a node, in order.
func (k *kubelets) on(name string) (pods []*corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	byName := map[string]*corev1.Pod{}
	for _, runner := range k.pods {
		if runner.latest != nil && runner.latest.Spec.NodeName == name {
			byName[runner.latest.Namespace+"/"+runner.latest.Name] = runner.latest
		}
	}
	for _, key := range sorted(byName) {
		pods = append(pods, byName[key])
	}
	return pods
}

// markLost marks the pods of a lost node as not ready, as the node controller does.
func (k *kubelets) markLost(name string) {
	for _, pod := range k.on(name) {
		k.mu.Lock()
		runner, marked := k.pods[pod.UID], pod.DeepCopy()
		k.mu.Unlock()
		if runner != nil && nodes.IsReady(pod) {
			nodes.SetCondition(marked, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeStatusUnknown", LastTransitionTime: metav1.Now()})
			runner.writeStatus(marked)
		}
	}
}

// schedulable returns a node for a pod while some nodes have outages; "" if no node has an outage. isAny reports whether any node has no outage.
func (k *kubelets) schedulable(d dice.Dice) (name string, isAny bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var free []string
	for _, name := range nodeNames {
		if k.outages[name] == "" {
			free = append(free, name)
		}
	}
	switch len(free) {
	case len(nodeNames):
		return "", true
	case 0:
		return "", false
	}
	return dice.Pick(d, free...), true
}

// randomDisruption returns what a user wants to happen to pods on nodes that are drained or lost. It sets no maximum age of pods, which would keep a
// cluster from becoming calm.
func randomDisruption(d dice.Dice) *v1.Disruption {
	seconds := func() *int32 { return dice.Pick(d, nil, ptr.To[int32](0), ptr.To[int32](20), ptr.To[int32](90)) }
	rules := &v1.Disruption{OnDrain: dice.Pick(d, "", v1.IgnoreDrain, v1.ReplaceDrain, v1.ReplaceDrain)}
	if d.Chance(0.7) {
		rules.NodeLoss = &v1.NodeLoss{ReplaceAfterSeconds: seconds(), ForceDeleteAfterSeconds: seconds()}
	}
	return dice.Pick(d, nil, rules, rules)
}
