package source

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// fullNode returns a node as a kubelet with 50 images writes it.
func fullNode(number int) *corev1.Node {
	name := fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", number/250, number%250)
	n := nodeNamed(name, fmt.Sprintf("eu-central-1%c", 'a'+number%3), corev1.ConditionTrue)
	now := metav1.Now()
	n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", Time: &now, FieldsV1: metav1.NewFieldsV1(fmt.Sprintf("%02000d", number))}}
	for i := range 20 {
		n.Labels[fmt.Sprintf("example.com/label-%d", i)] = "a value of usual length"
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionFalse, LastHeartbeatTime: now, LastTransitionTime: now, Reason: "KubeletHasSufficient", Message: "kubelet has enough of it",
		})
	}
	for i := range 50 {
		image := fmt.Sprintf("registry.example.com/team/application-%d", i)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{image + "@sha256:" + fmt.Sprintf("%064d", i), image + ":v1.2.3"}, SizeBytes: 1e8})
	}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi")}
	return n
}

// spent returns the CPU time that this process has used, because elapsed time would depend on how busy the machine is.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkNodes measures what the watch of nodes costs: the memory for 5000 nodes, and the CPU time for an update, including its decoding. Each of
// 5000 kubelets writes its status every five minutes, which makes 17 updates a second.
func BenchmarkNodes(b *testing.B) {
	const count = 5000
	data, err := fullNode(1).Marshal()
	if err != nil {
		b.Fatal(err)
	}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	nodes, store := NewNodes(nil, clock.RealClock{}), cache.NewStore(cache.MetaNamespaceKeyFunc)
	take := func(object *corev1.Node) {
		trimmed, _ := trimNode(object)
		if err := store.Update(trimmed); err != nil {
			b.Fatal(err)
		}
		nodes.set(trimmed.(*corev1.Node))
	}
	before := heap()
	for number := range count {
		take(fullNode(number))
	}
	used := heap() - before
	began := spent(b)
	updates := 0
	for b.Loop() {
		var object corev1.Node
		if err := object.Unmarshal(data); err != nil {
			b.Fatal(err)
		}
		take(&object)
		updates++
	}
	each := (spent(b) - began) / time.Duration(updates)
	b.ReportMetric(float64(each.Nanoseconds()), "ns-of-CPU/update")
	b.ReportMetric(float64(used)/(1<<20), "MB/5000-nodes")
	b.ReportMetric(float64(each.Nanoseconds())*count/300/1e9*100, "%-of-a-core-at-rest")
	b.ReportMetric(float64(len(data)), "B/node")
	runtime.KeepAlive(store)
}
