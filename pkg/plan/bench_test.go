package plan_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// BenchmarkMake measures the cost of a decision. All inputs are in memory, so this is the CPU time that a sync spends besides its requests.
// hack/bench runs it too, and requires at most a millisecond for the steady state of 1000 pods.
func BenchmarkMake(b *testing.B) {
	situations := []struct {
		name    string
		observe func(pods int) Observed
	}{
		{"steady", steady},
		{"create", fromNothing},
		{"rollout", halfRolledOut},
		{"inplace", halfUpdatedInPlace},
	}
	for _, situation := range situations {
		for _, pods := range []int{10, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/pods=%d", situation.name, pods), func(b *testing.B) {
				observed := situation.observe(pods)
				b.ReportAllocs()
				for b.Loop() {
					Make(observed)
				}
			})
		}
	}
}

// BenchmarkStatus measures the cost of computing the status, which each sync does after the decision.
func BenchmarkStatus(b *testing.B) {
	for _, pods := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("steady/pods=%d", pods), func(b *testing.B) {
			observed := steady(pods)
			decided := Make(observed)
			b.ReportAllocs()
			for b.Loop() {
				status.Compute(decided.Report(observed.Manager, observed.Pods, true, observed.Now))
			}
		})
	}
}

// steady returns an observation with all desired pods, ready and updated.
func steady(count int) Observed {
	return indexed(Observe(Manager(int32(count)), servingPods(count)...))
}

// fromNothing returns the observation of a new PodManager, which has no pods yet.
func fromNothing(count int) Observed {
	o := indexed(Observe(Manager(int32(count))))
	o.Manager.Status.CurrentRevision = ""
	return o
}

// halfRolledOut returns an observation in the middle of a rolling update: half of the pods are updated and ready.
func halfRolledOut(count int) Observed {
	pods := servingPods(count)
	for _, p := range pods[:count/2] {
		OfImage("v2")(p)
		Runs("v2", "id-2", 0)(p)
	}
	return indexed(RollingOut(Manager(int32(count), Image("v2")), pods...))
}

// halfUpdatedInPlace returns an observation in the middle of an update in place: half of the pods are updated and ready again.
func halfUpdatedInPlace(count int) Observed {
	m := Manager(int32(count), Image("v2"), InPlace(v1.InPlaceIfPossible, 0))
	from, to := RevisionFor(Manager(0)), RevisionFor(m)
	pods := servingPods(count)
	for _, p := range pods[:count/2] {
		patch, err := inplace.Update{Pod: p, Step: inplace.StepUpdate, From: from, To: to}.Patch(m, Now.Add(-time.Minute))
		if err != nil {
			panic(err) // a bug in this file
		}
		ApplyPatch(p, patch)
		Runs("v2", "id-2", 1)(p)
	}
	return indexed(RollingOut(m, pods...))
}

func servingPods(count int) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, count)
	for index := range count {
		pods = append(pods, Pod(index, Runs("nginx", "id-1", 0), OnNode(fmt.Sprint("node-", index%100))))
	}
	return pods
}

// indexed makes an observation look up pods by name in a map, as the informer's store does. In the other tests, the look-up searches a list.
func indexed(o Observed) Observed {
	byName := make(map[string]*corev1.Pod, len(o.Pods))
	for _, p := range o.Pods {
		byName[p.Name] = p
	}
	o.PodNamed = func(name string) *corev1.Pod { return byName[name] }
	return o
}
