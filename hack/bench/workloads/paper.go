package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/bench/paper"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/shard"
)

// runPaper measures unit costs in this process, and computes a cluster that is too large for any machine of ours.
func (b *Bench) runPaper(context.Context) error {
	c := paper.Costs{}
	objects := 20_000
	long := 200 * time.Millisecond
	if b.settings.Scale < 0.2 { // a smoke test
		objects, long = 2000, time.Millisecond
	}
	pod, err := typicalPod().Marshal()
	if err != nil {
		return err
	}
	c.Wire = float64(len(pod))
	decode := func(i int) metav1.Object {
		decoded := &corev1.Pod{}
		_ = decoded.Unmarshal(pod) // it was encoded here
		decoded.Name, decoded.UID = fmt.Sprintf("%s-%d", ownerName(i/10), i%10), types.UID(fmt.Sprintf("%036d", i))
		decoded.OwnerReferences[0].Name, decoded.OwnerReferences[0].UID = ownerName(i/10), types.UID(fmt.Sprintf("%036d", i/10))
		decoded.Labels[v1.LabelManager] = ownerName(i / 10)
		source.Trim(decoded)
		return decoded
	}
	c.Pod = bytesEach(objects, decode)
	c.PodDecode = secondsEach(long, func() { decode(0) })
	c.Manager, c.ManagerDecode = managerCosts(objects/10, long)
	c.Revision = bytesEach(objects/10, func(i int) metav1.Object {
		stored := plantest.Stored(typicalManager(), 1)
		stored.Name = fmt.Sprintf("%s-%d", stored.Name, i)
		return &appsv1.ControllerRevision{ObjectMeta: stored.ObjectMeta, Data: stored.Data, Revision: stored.Revision}
	})
	var pods []*corev1.Pod
	for i := range paper.PerManager {
		pods = append(pods, plantest.Pod(i, plantest.Runs("nginx", "id-1", 0)))
	}
	observed := plantest.Observe(plantest.Manager(paper.PerManager), pods...)
	decided := plan.Make(observed)
	c.Plan = secondsEach(long, func() { plan.Make(observed) })
	c.Status = secondsEach(long, func() { status.Compute(decided.Report(observed.Manager, observed.Pods, true, observed.Now)) })
	carried := labels.Set(typicalPod().Labels)
	for selector, cost := range map[string]*float64{
		shard.Shard{Index: 7, Count: paper.Shards}.Selector(): &c.Match, shard.UnshardedSelector(paper.Shards): &c.StrayMatch,
	} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			return err
		}
		*cost = secondsEach(long, func() { parsed.Matches(carried) })
	}
	b.report.Paper = &c
	for _, row := range paper.Rows(c, 8) {
		b.say("  %d pods on %d replicas: %.0f MB each, %.0f MB of that for the PodManagers of all", paper.Pods, row.Replicas, row.Memory/figures.MB, row.Undivided/figures.MB)
	}
	return nil
}

// managerCosts returns the size of a PodManager in the cache, and the cost to decode an event about it. PodManagers are encoded as JSON.
func managerCosts(objects int, long time.Duration) (bytes, decode float64) {
	data, err := json.Marshal(typicalManager())
	if err != nil {
		panic(err) // a bug in this file
	}
	read := func(i int) metav1.Object {
		decoded := &v1.PodManager{}
		_ = json.Unmarshal(data, decoded) // it was encoded here
		decoded.Name = ownerName(i)
		return decoded
	}
	return bytesEach(objects, read), secondsEach(long, func() { read(0) })
}

// bytesEach returns the memory that an object takes in a cache.
func bytesEach(count int, make func(i int) metav1.Object) float64 {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"podManager": func(obj any) ([]string, error) {
			key, _ := source.ManagerKey(obj.(metav1.Object))
			return []string{key.String()}, nil
		},
	})
	before := heap()
	for i := range count {
		_ = store.Add(make(i)) // all objects have names
	}
	grown := heap() - before
	runtime.KeepAlive(store)
	return grown / float64(count)
}

func heap() float64 {
	runtime.GC()
	runtime.GC() // the first collection leaves objects with finalizers
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// secondsEach returns the CPU time of a call. Other programs on the machine affect it less than the wall-clock time.
func secondsEach(long time.Duration, call func()) float64 {
	calls, before := 0, cpuSeconds()
	for began := time.Now(); time.Since(began) < long; calls++ {
		call()
	}
	return (cpuSeconds() - before) / float64(calls)
}

// cpuSeconds returns the CPU time that this process has used so far.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails only for bad arguments
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// typicalManager returns a PodManager that has been in use for a while.
func typicalManager() *v1.PodManager {
	manager := newManager("web-12345", paper.PerManager, v1.RecreatePods)
	manager.Namespace, manager.UID, manager.ResourceVersion, manager.Generation = "team-17", types.UID(strings.Repeat("1", 36)), "123456789", 7
	manager.Labels = map[string]string{"app": "web", "team": "a", "env": "production"}
	manager.Spec.Template.Spec = typicalPod().Spec
	manager.Status = v1.PodManagerStatus{ObservedGeneration: 7, Replicas: paper.PerManager, CurrentRevision: "web-12345-5d4f8c7b9", UpdateRevision: "web-12345-5d4f8c7b9"}
	for _, kind := range []string{v1.ConditionReady, v1.ConditionAvailable, v1.ConditionProgressing, v1.ConditionStalled, v1.ConditionReplicaFailure} {
		manager.Status.Conditions = append(manager.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: "AllAvailable", Message: "All 10 pods are available and updated", LastTransitionTime: metav1.Now(), ObservedGeneration: 7})
	}
	return manager
}

// typicalPod returns a running pod as the API server stores it.
func typicalPod() *corev1.Pod {
	pod := newPod("web-12345", 3)
	pod.Namespace, pod.ResourceVersion, pod.CreationTimestamp = "team-17", "123456789", metav1.Now()
	pod.Labels = map[string]string{
		"app": "web", v1.LabelManager: "web-12345", v1.LabelManagerUID: strings.Repeat("1", 36), v1.LabelRevision: "5d4f8c7b9",
		v1.LabelPodIndex: "3", v1.LabelShard: "7-of-64",
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1.GroupName + "/v1", Kind: "PodManager", Name: "web-12345", Controller: ptr.To(true)}}
	pod.Spec.NodeName = "node-1234"
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
	container := &pod.Spec.Containers[0]
	container.Resources = corev1.ResourceRequirements{Requests: amounts, Limits: amounts}
	for i := range 10 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: "value of the variable"})
	}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 1500))}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.0.0.17", PodIP: "10.1.2.3", PodIPs: []corev1.PodIP{{IP: "10.1.2.3"}}, StartTime: ptr.To(metav1.Now())}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", Ready: true, Started: ptr.To(true), Image: oldImage, ImageID: "docker.io/library/nginx@sha256:" + strings.Repeat("a", 64),
		ContainerID: "containerd://" + strings.Repeat("b", 64), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	return pod
}
