package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

const (
	// memory is how old the spec may be that a controller goes by when it creates a pod: its copy is some seconds old, and the request may
	// take two minutes.
	memory = 3 * time.Minute
	// window is the time in which requests of one kind are counted, and mostRequests how many there may be.
	window       = 10 * time.Second
	mostRequests = 120
	// grace is how long the controller may take to see that a pod is not ready any more.
	grace = 5 * time.Second
	// available is how long a pod has to be ready to be available, whatever minReadySeconds is.
	available = 40 * time.Second
)

// judge checks what users were promised. It knows the truth from the API server, and nothing of how the controller decides.
type judge struct {
	c *Cluster

	mu       sync.Mutex
	managers map[types.UID]*managed
	pods     map[types.UID]*corev1.Pod
	requests map[string][]time.Time
	// ready and unready are when a pod has last become ready, and has last ceased to be.
	ready, unready map[types.UID]time.Time
	blamed         map[string]bool // kinds of requests that were told once
	// writes are those of the controller, but for Leases.
	writes     []write
	wasRewound bool
	violations []string
}

// managed is what is known of a PodManager.
type managed struct {
	key    string
	isGone bool
	wants  []want // in the order of time
}

// want is how many pods there may be at the most since a time, and how many must be available at the least.
type want struct {
	since       time.Time
	most, least int
}

type write struct {
	at   time.Time
	what string
}

func newJudge(c *Cluster) *judge {
	return &judge{c: c, managers: map[types.UID]*managed{}, pods: map[types.UID]*corev1.Pod{}, requests: map[string][]time.Time{}, blamed: map[string]bool{}, ready: map[types.UID]time.Time{}, unready: map[types.UID]time.Time{}}
}

// violate notes a broken promise. The caller holds the lock.
func (j *judge) violate(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	j.c.story.tell("VIOLATION: %s", text)
	j.violations = append(j.violations, text)
}

// see takes every write; pod is its pod, if it leaves one.
func (j *judge) see(c *apiserver.Change, pod *corev1.Pod) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if isReplica(c.Request) && c.Request.Resource.Name != "leases" && c.Request.Resource.Name != "events" {
		j.writes = append(j.writes, write{time.Now(), c.Request.String()})
	}
	switch c.Request.Resource.Name {
	case "podmanagers":
		j.seeManager(c)
	case "pods":
		j.seePod(c, pod)
	}
}

func isReplica(r *apiserver.Request) bool { return strings.HasPrefix(r.Client, replicaPrefix) }

func (j *judge) seeManager(c *apiserver.Change) {
	uid := uidOf(c)
	known := j.managers[uid]
	if known == nil {
		known = &managed{}
		j.managers[uid] = known
	}
	if known.isGone = c.New == nil; known.isGone || c.Request.Subresource == "status" {
		return
	}
	manager := typed[v1.PodManager](c.New)
	known.key = manager.Namespace + "/" + manager.Name
	wanted := want{time.Now(), manager.DesiredReplicas() + manager.MaxSurge(), manager.DesiredReplicas() - manager.MaxUnavailable()}
	if manager.Strategy() != v1.RollingUpdateStrategy || manager.DeletionTimestamp != nil {
		wanted.least = 0
	}
	if n := len(known.wants); n == 0 || known.wants[n-1].most != wanted.most || known.wants[n-1].least != wanted.least {
		known.wants = append(known.wants, wanted)
	}
}

func (j *judge) seePod(c *apiserver.Change, pod *corev1.Pod) {
	uid := uidOf(c)
	before := j.pods[uid]
	if pod == nil {
		delete(j.pods, uid)
		return
	}
	j.pods[uid] = pod
	wasReady, isReady := before != nil && nodes.IsReady(before) && isActive(before), nodes.IsReady(pod) && isActive(pod)
	if isReady && !wasReady {
		j.ready[uid] = time.Now()
	}
	if wasReady && !isReady {
		j.unready[uid] = time.Now()
		if isReplica(c.Request) && c.Request.Verb == "delete" {
			j.checkAvailable(before, c)
		}
	}
	owner, had := ownerOf(pod), types.UID("")
	if before != nil {
		had = ownerOf(before)
	}
	if owner == "" {
		return
	}
	// A create may have been on its way when the owner went: the garbage collector takes such a pod away. One that ran before must not go with it.
	if known := j.managers[owner]; before != nil && owner != had && isReplica(c.Request) && (known == nil || known.isGone) {
		j.violate("%s/%s gets an owner that is gone: %v", pod.Namespace, pod.Name, c.Request)
	}
	if before == nil || owner != had {
		j.checkCount(owner, c)
	}
}

func ownerOf(pod *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return ref.UID
	}
	return ""
}

func isActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !nodes.IsFinished(pod) }

// checkCount checks that there are not too many pods.
func (j *judge) checkCount(owner types.UID, c *apiserver.Change) {
	known := j.managers[owner]
	if known == nil || j.wasRewound {
		return
	}
	count := 0
	for _, pod := range j.pods {
		if ownerOf(pod) == owner && isActive(pod) {
			count++
		}
	}
	most, _ := known.recent()
	if isReplica(c.Request) && c.Request.Verb == "create" && count > most {
		j.violate("%s has %d pods, and never wanted more than %d of late: %v", known.key, count, most, c.Request)
	}
}

// recent are the most pods that were wanted of late, and the least that had to be available.
func (m *managed) recent() (most, least int) {
	for i, w := range m.wants {
		if i+1 == len(m.wants) || time.Since(m.wants[i+1].since) < memory {
			if most == 0 && least == 0 {
				least = w.least
			}
			most, least = max(most, w.most), min(least, w.least)
		}
	}
	return most, least
}

// checkAvailable checks, when the controller takes a ready pod down, that enough others are ready. Those that have just ceased to be count:
// the controller cannot know that yet.
func (j *judge) checkAvailable(before *corev1.Pod, c *apiserver.Change) {
	known := j.managers[ownerOf(before)]
	if known == nil || known.isGone || j.wasRewound || time.Since(j.ready[before.UID]) < available {
		return
	}
	count := 0
	for uid, pod := range j.pods {
		if uid != before.UID && ownerOf(pod) == ownerOf(before) && (isActive(pod) && nodes.IsReady(pod) || time.Since(j.unready[uid]) < grace) {
			count++
		}
	}
	if _, least := known.recent(); count < least {
		j.violate("%s has %d ready pods, and never needed fewer than %d of late: %v", known.key, count, least, c.Request)
	}
}

// request takes every request of the controller, before it is sent.
func (j *judge) request(r *apiserver.Request) {
	if r.Resource == nil || r.Resource.Name == "leases" || r.Resource.Name == "events" || r.Verb == "list" || r.Verb == "watch" || r.Verb == "create" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	kind, now := r.String(), time.Now()
	recent := slices.DeleteFunc(j.requests[kind], func(at time.Time) bool { return now.Sub(at) > window })
	if recent = append(recent, now); len(recent) > mostRequests && !j.blamed[kind] {
		j.violate("%d times in %v: %v", len(recent), window, r)
		j.blamed[kind] = true
	}
	j.requests[kind] = recent
}

// restored notes that the API server has gone back in time: what was wanted before may be wanted again.
func (j *judge) restored() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wasRewound = true
}

// checkQuiet checks that nothing is written when all has been calm for a while.
func (j *judge) checkQuiet(since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := map[string]int{}
	for _, w := range j.writes {
		if w.at.After(since) {
			counts[w.what]++
		}
	}
	for _, what := range sorted(counts) {
		j.violate("%d times, although all is calm: %s", counts[what], what)
	}
}

// checkTrue checks that each status says what is the case.
func (j *judge) checkTrue() {
	list, err := j.c.managers.AppsV1().PodManagers(metav1.NamespaceAll).List(j.c.ctx, metav1.ListOptions{})
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.violate("%v", err)
		return
	}
	for _, m := range list.Items {
		for _, pod := range j.pods {
			if ownerOf(pod) == "" && isActive(pod) && pod.Namespace == m.Namespace && pod.Labels[v1.LabelManager] == m.Name && m.DeletionTimestamp == nil {
				j.violate("%s/%s has the label of %s and no owner, and is not adopted", pod.Namespace, pod.Name, m.Name)
			}
		}
		count, ready := int32(0), int32(0)
		for _, pod := range j.pods {
			if ownerOf(pod) == m.UID && isActive(pod) {
				count++
				if nodes.IsReady(pod) {
					ready++
				}
			}
		}
		s := m.Status
		switch key := m.Namespace + "/" + m.Name; {
		case m.DeletionTimestamp != nil:
			j.violate("%s is still being deleted, with the finalizers %v", key, m.Finalizers)
		case s.ObservedGeneration != m.Generation:
			j.violate("%s: the status is of generation %d, the spec of %d", key, s.ObservedGeneration, m.Generation)
		case s.Replicas != count || s.ReadyReplicas != ready:
			j.violate("%s: the status says %d pods, %d ready; there are %d, %d ready", key, s.Replicas, s.ReadyReplicas, count, ready)
		}
	}
}

// checkDone checks that a release that nothing kept from going out is out.
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
		j.violate("%s: the good release is not out: %+v", key, ready)
	}
	own := slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return ownerOf(&pod) != manager.UID || !isActive(&pod) })
	if len(own) != manager.DesiredReplicas() {
		j.violate("%s: %d pods, want %d", key, len(own), manager.DesiredReplicas())
	}
	for _, pod := range own {
		if pod.Annotations["note"] != "good" || !nodes.IsReady(&pod) {
			j.violate("%s: pod %s is not of the good release, or not ready", key, pod.Name)
		}
	}
}
