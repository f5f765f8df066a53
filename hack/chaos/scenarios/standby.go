package scenarios

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

const (
	// mostPerEvent is how many bytes each event about a pod may leave in the heap of a standby on average. heapNoise is the usual variation of the heap
	// (70 kB were seen). A standby that remembered each event would exceed the limit: three strings alone take 48 bytes.
	mostPerEvent, heapNoise = 10, 128 << 10
	// takeOver is how soon a standby must finish the work of a leader that was stopped.
	takeOver = 20 * time.Second
	// beatWriters is the number of goroutines that change pods concurrently.
	beatWriters = 16
)

// standby runs a second controller, which sees as many events as in several days while the first one leads. The second one must keep nothing but its
// caches, and must take over at once when the leader is stopped.
func standby(a scene) {
	least, most, length := 10000, 20000, time.Minute // fewer would be lost in the noise
	if a.Short {
		least, most, length = 3000, 6000, 15*time.Second
	}
	a.allowLeases()
	// With a long lease, the leader does not lose it on a busy machine. It releases the lease when it is stopped.
	flags := append(a.leaseFlags(), "-leader-elect-lease-duration=1m", "-leader-elect-renew-deadline=50s")
	a.Start(flags...)
	leader := a.Process
	a.Await("a leader", func() (string, bool) { return leader.Tail(3), a.leader() != "" })
	second, ready, err := a.Contender.Launch(a.Contender.Kubeconfig(), a.Namespace, flags...)
	a.Must(err)
	defer func() { _ = second.Kill() }()
	a.Await("the second controller to be ready", func() (string, bool) { return second.Tail(3), ready() })
	a.Create("web", 2, testenv.OwnerOptions{})
	a.awaitCalm()
	// These pods are never scheduled, so events about them are cheaper.
	a.Create("idle", 20, testenv.OwnerOptions{Pod: func(template *corev1.PodTemplateSpec) { template.Spec.SchedulerName = "nobody" }})
	a.Await("20 idle pods", func() (string, bool) { n := len(a.PodsOf("idle")); return fmt.Sprint(n), n >= 20 })

	a.changePods("idle", 1000, 1000, 0) // until caches and buffers have their final size
	before := a.heap(second)
	events := a.changePods("idle", least, most, length)
	grown := a.heap(second) - before
	a.Logf("after %d events the heap is larger by %d kB", events, grown>>10)
	if most := int64(mostPerEvent*events + heapNoise); grown > most {
		a.Violate(faults.Violation{Invariant: "I3", Object: "standby",
			What: fmt.Sprintf("%d events about pods have left %d kB in the heap of a standby, more than %d kB", events, grown>>10, most>>10)})
	}

	a.Remove("idle")
	a.Must(leader.Stop())
	a.Process = second
	began := time.Now()
	a.Scale("web", 5)
	a.Logf("stopped the leader")
	for _, problem := range a.AwaitSettled(takeOver) {
		problem.What = fmt.Sprintf("the standby is not done %v after the leader was stopped: %s", takeOver, problem.What)
		a.Violate(problem)
	}
	a.Logf("the standby has taken over and is done after %v", time.Since(began).Round(time.Millisecond))
	a.Settle()
	a.Judge()
}

// changePods changes a field of an owner's pods that the controller reads: at least least times, and up to most times if there is time.
func (a scene) changePods(name string, least, most int, length time.Duration) int {
	pods := a.PodsOf(name)
	began := time.Now()
	var count atomic.Int64
	write := func() {
		for a.Ctx.Err() == nil {
			n := int(count.Add(1))
			if n > most || n > least && time.Since(began) > length {
				count.Add(-1)
				return
			}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, corev1.PodDeletionCost, n)
			a.Insist(func() error {
				_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Patch(a.Ctx, pods[n%len(pods)].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				return err
			})
		}
	}
	a.InParallel(slices.Repeat([]func(){write}, beatWriters)...)
	a.Logf("%d changes of pods, %.0f/s", count.Load(), float64(count.Load())/time.Since(began).Seconds())
	return int(count.Load())
}

// heap returns the live heap of a process: the minimum over several garbage collections, because each of them counts in-flight requests as live.
func (a scene) heap(process *lab.Process) int64 {
	a.awaitIdle(process)
	const live, cycles, count = "go_gc_heap_live_bytes", "go_gc_cycles_total_gc_cycles_total", 8
	began := a.metrics(process)[cycles] + 1 // the first collection may have begun before
	least := math.Inf(1)
	a.Await("some garbage collections", func() (string, bool) {
		for range 20 { // the requests create garbage
			now := a.metrics(process)
			if now[cycles] > began {
				least = min(least, now[live])
			}
			if now[cycles] > began+count {
				return "", true
			}
		}
		return process.Tail(1), false
	})
	if least == 0 {
		a.Must(fmt.Errorf("there is no metric %s", live))
	}
	usage, err := process.Usage()
	a.Must(err)
	a.Logf("the heap of the standby has %.0f kB in use, the process %d kB", least/1024, usage.RSS>>10)
	return int64(least)
}

// awaitIdle waits until a process uses little CPU. There is no other way to see that a standby has handled all events.
func (a scene) awaitIdle(process *lab.Process) {
	const little = 20 * time.Millisecond // it also reads the lease
	spent := func() time.Duration {
		usage, err := process.Usage()
		a.Must(err)
		return usage.CPU
	}
	before, quiet := spent(), 0
	a.Await("the standby to be idle", func() (string, bool) {
		lab.Pause(a.Ctx, 500*time.Millisecond)
		now := spent()
		if quiet++; now-before > little {
			quiet = 0
		}
		before = now
		return now.String(), quiet >= 3
	})
}

// uncompressed requests uncompressed answers: compressing one takes 700 kB of the heap that is measured.
var uncompressed = http.Client{Transport: &http.Transport{DisableCompression: true}}

// metrics returns the metrics of a process that have no labels.
func (a scene) metrics(process *lab.Process) map[string]float64 {
	response, err := uncompressed.Get("http://" + process.Metrics + "/metrics")
	a.Must(err)
	defer response.Body.Close()
	found := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			found[name] = value
		}
	}
	return found
}
