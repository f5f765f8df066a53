package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// isBroken reports whether a guarantee was violated.
func (j *judge) isBroken() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.violations) > 0
}

// lastChange returns when any client last changed any object other than a Lease or an event.
func (j *judge) lastChange() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// checkQuiet checks that the controller has written nothing since the given time. Unless wordsMatter, changes to messages of conditions are
// ignored.
func (j *judge) checkQuiet(since time.Time, wordsMatter bool, although string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := map[string]int{}
	for _, w := range j.writes {
		if w.at.After(since) && (wordsMatter || !isWording(w.change)) {
			counts[w.change.Request.String()]++
		}
	}
	for _, what := range sorted(counts) {
		j.violate("sent %d times, although %s: %s", counts[what], although, what)
	}
}

// checkTrue checks that each status is correct, and that nothing is left behind.
func (j *judge) checkTrue() {
	j.mu.Lock()
	defer j.mu.Unlock()
	byKey := map[string]*managed{}
	for _, known := range j.managers {
		if !known.isGone {
			byKey[known.key] = known
		}
	}
	for _, key := range sorted(byKey) {
		j.checkStatus(byKey[key])
	}
	pods := map[string]*corev1.Pod{}
	for _, pod := range j.pods {
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	for _, name := range sorted(pods) {
		pod := pods[name]
		owner, byLabel := j.managers[ownerOf(pod)], byKey[pod.Namespace+"/"+pod.Labels[v1.LabelManager]]
		switch {
		case ownerOf(pod) != "" && (owner == nil || owner.isGone):
			j.violate("%s has an owner that does not exist", name)
		case ownerOf(pod) == "" && isActive(pod) && byLabel != nil && byLabel.latest != nil && byLabel.latest.DeletionTimestamp == nil && !byLabel.latest.Spec.Paused:
			j.violate("%s has the label of %s and no owner, and is not adopted", name, byLabel.key)
		}
	}
}

// checkStatus checks the status of one PodManager.
func (j *judge) checkStatus(known *managed) {
	if known.object.GetDeletionTimestamp() != nil {
		count, _ := j.count(known.object.GetUID())
		j.violate("%s is still being deleted, with %d pods and the finalizers %v", known.key, count, known.object.GetFinalizers())
		return
	}
	if known.latest == nil {
		j.checkBroken(known)
		return
	}
	m := known.latest
	count, ready := j.count(m.UID)
	switch s := m.Status; {
	case s.ObservedGeneration != m.Generation:
		j.violate("%s: the status is of generation %d, the spec of %d", known.key, s.ObservedGeneration, m.Generation)
	case int(s.Replicas) != count || int(s.ReadyReplicas) != ready:
		j.violate("%s: the status says %d pods, %d ready; there are %d, %d ready", known.key, s.Replicas, s.ReadyReplicas, count, ready)
	case j.c.rules.prunes != "podNames" && !slices.Equal(slices.Sorted(slices.Values(s.PodNames)), j.activeOf(m.UID)):
		j.violate("%s: the status names the pods %v; there are %v", known.key, s.PodNames, j.activeOf(m.UID))
	}
}

// activeOf returns the names of an owner's active pods, in order.
func (j *judge) activeOf(owner types.UID) (names []string) {
	for _, pod := range j.pods {
		if ownerOf(pod) == owner && isActive(pod) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// checkBroken checks that the status of an object that cannot be decoded says so.
func (j *judge) checkBroken(known *managed) {
	conditions, _, _ := unstructured.NestedSlice(known.object.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields := condition.(map[string]any); fields["type"] == v1.ConditionStalled && fields["reason"] == v1.ReasonUndecodable {
			return
		}
	}
	j.violate("%s cannot be decoded, and does not say so", known.key)
}

// checkDone checks that the user's last release, which no fault impeded, is complete.
func (j *judge) checkDone(u *user) {
	manager, err := u.c.managers.AppsV1().PodManagers(u.namespace).Get(u.c.ctx, u.name, metav1.GetOptions{})
	pods := u.pods()
	j.mu.Lock()
	defer j.mu.Unlock()
	key := u.namespace + "/" + u.name
	if err != nil {
		j.violate("%s: %v", key, err)
		return
	}
	ready := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		j.violate("%s: the user's last release is not complete, Ready is %+v", key, ready)
	}
	own := slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return ownerOf(&pod) != manager.UID || !isActive(&pod) })
	if len(own) != manager.DesiredReplicas() {
		j.violate("%s: %d pods, want %d", key, len(own), manager.DesiredReplicas())
	}
	for _, pod := range own {
		if pod.Annotations["note"] != "good" || !nodes.IsReady(&pod) {
			j.violate("%s: pod %s is not of the user's last release, or not ready", key, pod.Name)
		}
	}
}
