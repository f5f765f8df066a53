package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Replacements that are scheduled to the drained or lost node again, because they tolerate its taint, are not replaced without end. The pods that were there
// first are the ones that leave, and none is deleted.
func TestReplacementsOnTheSameNode(t *testing.T) {
	for name, test := range map[string]struct {
		rules func(*v1.PodManager)
		nodes func(*Observed)
	}{"drained": {replaceDrained, cordoned("node-0")}, "lost": {replaceLost, lost(time.Hour, "node-0")}} {
		for _, replicas := range []int32{1, 3} {
			t.Run(fmt.Sprintf("%s, %d replicas", name, replicas), func(t *testing.T) {
				o := With(Observe(Manager(replicas, Limits("1", "0"), test.rules)), test.nodes)
				for index := range int(replicas) {
					o.Pods = append(o.Pods, Pod(index, OnNode("node-0"), aged(time.Hour)))
				}
				var decided Plan
				for range 20 {
					decided = Make(o)
					for _, c := range decided.Create {
						o.Pods = append(o.Pods, Pod(c.Index, OnNode("node-0"), aged(time.Minute)))
					}
					if len(decided.Delete) > 0 {
						t.Fatalf("deletes %s", decided.Delete[0].Pod.Name)
					}
				}
				if len(o.Pods) != int(2*replicas) || len(decided.Create) > 0 || len(decided.Leaving) != int(replicas) {
					t.Errorf("%d pods, %d of them leaving, and %d to be created", len(o.Pods), len(decided.Leaving), len(decided.Create))
				}
				for _, l := range decided.Leaving {
					if Now.Sub(l.CreationTimestamp.Time) != time.Hour {
						t.Errorf("%s leaves, although it is a replacement", l.Name)
					}
				}
			})
		}
	}
}

// life carries out plans, one every 10 s. Each created pod is available at once.
type life struct {
	Observed
	// refuses is whether the API server refuses to delete pods. created counts the pods that were created, and left has the names of
	// those that were leaving.
	refuses bool
	created int
	left    map[string]bool
}

func (l *life) live(rounds int) {
	for range rounds {
		decided := Make(l.Observed)
		for _, d := range decided.Delete {
			if !l.refuses {
				l.Pods = without(l.Pods, d.Pod)
			}
		}
		for _, c := range decided.Create {
			p := NewPod(l.Manager, c)
			l.created++
			p.UID, p.CreationTimestamp, p.Spec.NodeName = types.UID(fmt.Sprint(p.Name, l.created)), metav1.NewTime(l.Now), "node-new"
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(l.Now),
			}}}
			l.Pods = append(l.Pods, p)
		}
		for _, pod := range decided.Leaving {
			l.left[pod.Name] = true
		}
		told, _ := status.Compute(decided.Report(l.Manager, l.Pods, !decided.Empty(), l.Now))
		l.Manager = l.Manager.DeepCopy()
		l.Manager.Status = told
		l.Now = l.Now.Add(10 * time.Second)
	}
}

// revisions returns how many pods have each revision.
func (l *life) revisions() map[string]int {
	count := map[string]int{}
	for _, p := range l.Pods {
		count[p.Labels[v1.LabelRevision]]++
	}
	return count
}

// Each pod that is too old is replaced once, by a pod of the same revision. So the renewal ends, and respects a partition.
func TestRenewalEnds(t *testing.T) {
	surge, half := Limits("1", "0"), Partition("2")
	old, young := aged(2*time.Hour), aged(time.Minute)
	for name, o := range map[string]Observed{
		"no rollout":                       Observe(Manager(3, surge, replaceOld), Pod(0, old), Pod(1, old), Pod(2, young)),
		"a partition, of the old revision": RollingOut(Next(3, surge, replaceOld, half), Pod(0, old), Pod(1, young), Pod(2, young, V2)),
		"a partition, of the new revision": RollingOut(Next(3, surge, replaceOld, half), Pod(0, young), Pod(1, young), Pod(2, old, V2)),
		"a partition, all":                 RollingOut(Next(3, surge, replaceOld, half), Pod(0, old), Pod(1, old), Pod(2, old, V2)),
		"a partition, all stay":            RollingOut(Next(3, surge, replaceOld, Partition("100%")), Pod(0, old), Pod(1, old), Pod(2, old)),
		"a partition, three revisions":     superseding(Next(3, surge, replaceOld, half), Pod(0, old), Pod(1, old, OfImage("v0")), Pod(2, old, V2)),
		"a partition, no surge":            RollingOut(Next(3, Limits("0", "1"), replaceOld, half), Pod(0, old), Pod(1, old), Pod(2, old, V2)),
		"refused":                          Observe(Manager(2, surge, replaceOld), Pod(0, old), Pod(1, young)),
	} {
		t.Run(name, func(t *testing.T) {
			l := life{Observed: o, refuses: name == "refused", left: map[string]bool{}}
			before, due := l.revisions(), 0
			for _, p := range l.Pods {
				if Now.Sub(p.CreationTimestamp.Time) > time.Hour {
					due++
				}
			}
			l.live(60)
			if l.refuses {
				if l.created != 1 || !l.left["web-0"] || len(l.left) != 1 {
					t.Errorf("refused: %d pods are created, and %v left", l.created, l.left)
				}
				l.refuses = false
				l.live(2)
			}
			if l.created != due || !maps.Equal(l.revisions(), before) {
				t.Errorf("%d pods are created for %d old ones; %v before, %v now", l.created, due, before, l.revisions())
			}
			for _, p := range l.Pods {
				if l.Now.Sub(p.CreationTimestamp.Time) > time.Hour {
					t.Errorf("%s is still there", p.Name)
				}
			}
		})
	}
}

// If the user scales down during a drain, the pods that still count are not on a drained node.
func TestScaleDownDuringADrain(t *testing.T) {
	o := With(Observe(Manager(3, Limits("1", "0"), replaceDrained), Pods3()...), cordoned("node-0", "node-1", "node-2"))
	l := life{Observed: o, left: map[string]bool{}}
	l.live(10)
	l.Manager.Spec.Replicas = ptr.To[int32](1)
	l.live(10)
	told := &l.Manager.Status
	if len(l.Pods) != 2 || told.LeavingReplicas != 1 || told.AvailableReplicas != 1 || !slices.ContainsFunc(l.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "node-new" }) {
		t.Errorf("%v are there, %d leave", Names(l.Pods), told.LeavingReplicas)
	}
}
