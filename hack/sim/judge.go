package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

const (
	// memory is the maximum age of the spec that the controller acts on when it creates a pod: its cache may be seconds old, and the request may
	// take two minutes.
	memory = 3 * time.Minute
	// grace is how long the controller may take to see that a pod is no longer ready.
	grace = 5 * time.Second
	// released is how long the controller may take to see that a pod no longer has an owner.
	released = 10 * time.Second
	// lookedFor is how long before an adoption the controller may have looked for the PodManager.
	lookedFor = 2 * time.Second
	// available is how long a pod has to be ready to count as available for any minReadySeconds.
	available = 40 * time.Second
)

// judge checks the guarantees that users rely on. It takes the truth from the API server, and knows nothing of how the controller decides.
type judge struct {
	c *Cluster

	mu       sync.Mutex
	managers map[types.UID]*managed
	pods     map[types.UID]*corev1.Pod
	// out has the time at which a node stopped being cordoned or lost. The time is zero while the node still is.
	out map[string]time.Time
	// ready has the time at which a pod last became ready, and unready how it last stopped being ready.
	ready   map[types.UID]time.Time
	unready map[types.UID]downtime
	// orphaned has the time at which a pod lost its owner. sent has the time at which the controller sent a write, heldAt the Leases that the process
	// held then, and looked the time at which a replica last sent a get of a PodManager.
	orphaned map[types.UID]time.Time
	sent     map[*apiserver.Request]time.Time
	heldAt   map[*apiserver.Request]map[string]bool
	looked   map[string]time.Time
	// leases has who holds each Lease. deployed has the settings of each process.
	leases   map[string]holding
	deployed map[string]settings
	// writes are the controller's recent writes, except to Leases and events. changed is when any client last changed any other object.
	writes     []write
	changed    time.Time
	wasRewound bool
	violations []string

	pace   pace
	timely timely
}

// managed is the state of a PodManager as the judge knows it.
type managed struct {
	key    string
	isGone bool
	goneAt time.Time
	object *unstructured.Unstructured // the newest version
	latest *v1.PodManager             // the same, decoded; nil if it cannot be decoded
	wants  []want                     // in chronological order
}

// want is the maximum number of pods and the minimum number of available pods since a point in time. If replaces is set, pods that are leaving their
// nodes do not count towards the maximum.
type want struct {
	since       time.Time
	most, least int
	replaces    bool
}

type write struct {
	at     time.Time
	change *apiserver.Change
}

func newJudge(c *Cluster) *judge {
	return &judge{c: c, managers: map[types.UID]*managed{}, pods: map[types.UID]*corev1.Pod{}, out: map[string]time.Time{}, pace: newPace(), timely: newTimely(),
		ready: map[types.UID]time.Time{}, unready: map[types.UID]downtime{}, orphaned: map[types.UID]time.Time{}, sent: map[*apiserver.Request]time.Time{},
		heldAt: map[*apiserver.Request]map[string]bool{}, looked: map[string]time.Time{}, leases: map[string]holding{}, deployed: map[string]settings{}}
}

// violate records a violated guarantee. The caller holds the lock.
func (j *judge) violate(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	j.c.story.tell("VIOLATION: %s", text)
	j.violations = append(j.violations, text)
}

// see handles every write. pod is the new state of a pod; nil if the write leaves none.
func (j *judge) see(c *apiserver.Change, pod *corev1.Pod) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch c.Request.Resource.Name {
	case "leases":
		j.seeLease(c)
		return
	case "events":
		return
	case "podmanagers":
		j.seeManager(c)
	case "pods":
		j.seePod(c, pod)
	case "nodes":
		j.seeNode(c)
	}
	j.changed = time.Now()
	if isReplica(c.Request) {
		j.checkHolder(c)
		j.writes = append(j.writes, write{time.Now(), c})
		for time.Since(j.writes[0].at) > 2*quiet {
			j.writes = j.writes[1:]
		}
	}
}

// isWording reports whether a write changes only messages of conditions.
func isWording(c *apiserver.Change) bool {
	if c.Request.Subresource != "status" || c.Old == nil || c.New == nil {
		return false
	}
	return fmt.Sprint(withoutMessages(c.Old)) == fmt.Sprint(withoutMessages(c.New))
}

func withoutMessages(o apiserver.Object) map[string]any {
	content, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	status, _, _ := unstructured.NestedMap(content, "status")
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		delete(condition.(map[string]any), "message")
	}
	return status
}

func isReplica(r *apiserver.Request) bool { return strings.HasPrefix(r.Client, replicaPrefix) }

func (j *judge) seeManager(c *apiserver.Change) {
	uid := uidOf(c)
	known := j.managers[uid]
	if known == nil {
		known = &managed{}
		j.managers[uid] = known
	}
	if known.isGone = c.New == nil; known.isGone {
		known.goneAt = time.Now()
		return
	}
	before := known.latest
	known.object = c.New.(*unstructured.Unstructured)
	known.key = known.object.GetNamespace() + "/" + known.object.GetName()
	if known.latest = decoded(c, before); known.latest == nil {
		return
	}
	manager := known.latest
	if manager.Status.ObservedGeneration > manager.Generation && !j.wasRewound {
		j.violate("%s: the status is of generation %d, the spec of %d: %v", known.key, manager.Status.ObservedGeneration, manager.Generation, c.Request)
	}
	if c.Request.Subresource == "status" {
		j.hearConditions(known.key, manager.Status.Conditions)
		return
	}
	if before == nil || before.Generation != manager.Generation {
		j.expectObserved(known, manager)
	}
	wanted := want{time.Now(), manager.DesiredReplicas() + manager.MaxSurge(), manager.DesiredReplicas() - manager.MaxUnavailable(), manager.NeedsNodes()}
	if manager.Strategy() != v1.RollingUpdateStrategy || manager.DeletionTimestamp != nil {
		wanted.least = 0
	}
	last := want{}
	if n := len(known.wants); n > 0 {
		last = known.wants[n-1]
		last.since = wanted.since
	}
	if last != wanted {
		known.wants = append(known.wants, wanted)
	}
}

// decoded returns the PodManager after a change; nil if it cannot be decoded. Few changes affect the spec, so it is decoded only then. For the spec, it does
// not use the converter of apimachinery, which lets numbers overflow.
func decoded(c *apiserver.Change, before *v1.PodManager) *v1.PodManager {
	manager := &v1.PodManager{}
	if before == nil || c.New.GetGeneration() != before.Generation || c.Request.Verb == "restore" {
		if json.Unmarshal(c.JSON(), manager) != nil {
			return nil
		}
		return manager
	}
	*manager = *before
	manager.DeletionTimestamp = c.New.GetDeletionTimestamp()
	if c.Request.Subresource != "status" {
		return manager
	}
	manager.Status = v1.PodManagerStatus{}
	status, _ := c.New.(*unstructured.Unstructured).Object["status"].(map[string]any)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(status, &manager.Status) != nil {
		return nil
	}
	return manager
}

// downtime is the time at which a pod of an owner stopped being ready.
type downtime struct {
	owner types.UID
	since time.Time
}

func (j *judge) seePod(c *apiserver.Change, pod *corev1.Pod) {
	uid := uidOf(c)
	before := j.pods[uid]
	if before != nil && isReplica(c.Request) && ownerOf(before) == "" && before.Labels[v1.LabelManager] == "" {
		j.violate("%s/%s belongs to no PodManager, and the controller writes it: %v", before.Namespace, before.Name, c.Request)
	}
	j.checkOrphan(before, c)
	if pod == nil {
		if delete(j.pods, uid); before != nil && serves(before) {
			j.unready[uid] = downtime{ownerOf(before), time.Now()}
		}
		return
	}
	j.pods[uid] = pod
	j.seeReadiness(before, pod, c)
	if owner := ownerOf(pod); owner != "" && (before == nil || owner != ownerOf(before)) {
		if before != nil {
			j.checkAdoption(pod, c)
		}
		j.checkCount(owner, c)
	}
}

// seeReadiness notes when a pod becomes ready, and when it stops being ready.
func (j *judge) seeReadiness(before, pod *corev1.Pod, c *apiserver.Change) {
	switch wasReady, isReady := serves(before), serves(pod); {
	case isReady && !wasReady:
		j.ready[pod.UID] = time.Now()
	case wasReady && !isReady:
		j.unready[pod.UID] = downtime{ownerOf(before), time.Now()}
		if isReplica(c.Request) && c.Request.Verb == "delete" {
			j.checkAvailable(before, c)
		}
	}
}

// checkAdoption checks that the new owner of a pod exists, or existed when the controller last looked, shortly before it sent the request: no request can
// depend on another object. A new pod is different: its create may have been in flight when the owner was deleted, and the garbage collector deletes
// such a pod.
func (j *judge) checkAdoption(pod *corev1.Pod, c *apiserver.Change) {
	known, sent := j.managers[ownerOf(pod)], j.sent[c.Request]
	wasThere := known != nil && !known.isGone
	if known != nil && known.isGone {
		looked := j.looked[c.Request.Client+"/"+known.key]
		wasThere = !known.goneAt.Before(sent) || !known.goneAt.Before(looked) && sent.Sub(looked) <= lookedFor
	}
	if isReplica(c.Request) && !wasThere {
		j.violate("%s/%s gets an owner that does not exist: %v", pod.Namespace, pod.Name, c.Request)
	}
}

// checkOrphan checks that the controller does not delete a pod without an owner, such as one left by an orphaning deletion. A delete is allowed if
// the controller sent it before it could know that the pod had lost its owner.
func (j *judge) checkOrphan(before *corev1.Pod, c *apiserver.Change) {
	uid := uidOf(c)
	switch pod, _ := c.New.(*corev1.Pod); {
	case before == nil || j.wasRewound:
	case pod != nil && ownerOf(before) != "" && ownerOf(pod) == "":
		j.orphaned[uid] = time.Now()
	case c.Request.Verb == "delete" && isReplica(c.Request) && ownerOf(before) == "" && isActive(before):
		if sent, since := j.sent[c.Request], j.orphaned[uid]; !since.IsZero() && sent.Sub(since) > released {
			j.violate("%s/%s is deleted, although it had been an orphan for %v: %v", before.Namespace, before.Name, sent.Sub(since), c.Request)
		}
	}
}

func ownerOf(pod *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return ref.UID
	}
	return ""
}

// serves reports whether a pod is active and ready.
func serves(pod *corev1.Pod) bool { return pod != nil && isActive(pod) && nodes.IsReady(pod) }

func isActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !nodes.IsFinished(pod) }

// checkCount checks that there are not too many pods.
func (j *judge) checkCount(owner types.UID, c *apiserver.Change) {
	known := j.managers[owner]
	if known == nil || j.wasRewound {
		return
	}
	count, _ := j.count(owner)
	recent := known.recent()
	if recent.replaces {
		count -= j.countLeaving(owner)
	}
	if isReplica(c.Request) && c.Request.Verb == "create" && count > recent.most {
		j.violate("%s has %d pods, and recently never wanted more than %d: %v", known.key, count, recent.most, c.Request)
	}
}

// seeNode notes whether the pods of a node may be replaced before they are gone.
func (j *judge) seeNode(c *apiserver.Change) {
	node, exists := c.New.(*corev1.Node)
	if !exists {
		node = c.Old.(*corev1.Node)
	}
	isLost := len(node.Status.Conditions) > 0 && node.Status.Conditions[0].Status != corev1.ConditionTrue
	switch since, wasOut := j.out[node.Name]; {
	case exists && (node.Spec.Unschedulable || isLost):
		j.out[node.Name] = time.Time{}
	case wasOut && since.IsZero():
		j.out[node.Name] = time.Now()
	}
}

// countLeaving returns how many active pods of an owner are on nodes that are cordoned or lost, or were until recently.
func (j *judge) countLeaving(owner types.UID) (count int) {
	for _, pod := range j.pods {
		since, wasOut := j.out[pod.Spec.NodeName]
		if ownerOf(pod) == owner && isActive(pod) && wasOut && (since.IsZero() || time.Since(since) < memory) {
			count++
		}
	}
	return count
}

// count returns how many active pods an owner has, and how many of them are ready.
func (j *judge) count(owner types.UID) (active, ready int) {
	for _, pod := range j.pods {
		if ownerOf(pod) == owner && isActive(pod) {
			active++
			if nodes.IsReady(pod) {
				ready++
			}
		}
	}
	return active, ready
}

// recent returns the maximum number of pods that was wanted recently, and the minimum number that had to be available.
func (m *managed) recent() (recent want) {
	for i, w := range m.wants {
		if i+1 == len(m.wants) || time.Since(m.wants[i+1].since) < memory {
			if recent.since.IsZero() {
				recent = w
			}
			recent.most, recent.least, recent.replaces = max(recent.most, w.most), min(recent.least, w.least), recent.replaces || w.replaces
		}
	}
	return recent
}

// checkAvailable checks that enough other pods are ready when the controller takes a ready pod down. Pods that became unready shortly before it sent the
// request, or while a webhook kept the request waiting, count as ready, because the controller could not know.
func (j *judge) checkAvailable(before *corev1.Pod, c *apiserver.Change) {
	known := j.managers[ownerOf(before)]
	if known == nil || known.isGone || j.wasRewound || time.Since(j.ready[before.UID]) < available {
		return
	}
	count, sent := 0, j.sent[c.Request]
	for uid, pod := range j.pods {
		if uid != before.UID && ownerOf(pod) == ownerOf(before) && serves(pod) {
			count++
		}
	}
	for uid, down := range j.unready { // pods that are gone are among them
		if pod := j.pods[uid]; uid != before.UID && down.owner == ownerOf(before) && !serves(pod) && sent.Sub(down.since) < grace {
			count++
		}
	}
	if recent := known.recent(); count < recent.least {
		j.violate("%s has %d ready pods, and recently never needed fewer than %d: %v", known.key, count, recent.least, c.Request)
	}
}

// restored notes that the API server has gone back in time. From then on, an earlier spec may apply again.
func (j *judge) restored() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wasRewound = true
}
