package podstate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A name has an index only if PodName would produce exactly that name: web-01 and web-1 are different pods, and web-01 is not ours.
func FuzzIndexOf(f *testing.F) {
	f.Add("web", "web-0")
	f.Add("web", "web-01")
	f.Add("web-1", "web-1-7")
	f.Add("web", "web-9223372036854775808")
	f.Add("", "-5")
	f.Fuzz(func(t *testing.T, manager, pod string) {
		index := IndexOf(manager, pod)
		if index < -1 || index >= 0 && PodName(manager, index) != pod {
			t.Errorf("%q is pod %d of %q", pod, index, manager)
		}
		number := len(pod)
		if got := IndexOf(manager, PodName(manager, number)); got != number {
			t.Errorf("pod %d of %q is read as %d", number, manager, got)
		}
		if a, b := ByIndex(manager, pod), ByIndex(pod, manager); a > 0 != (b < 0) || a == 0 && manager != pod {
			t.Errorf("%q before %q: %d, %d", manager, pod, a, b)
		}
	})
}

// Users write deletion costs and marks. The resulting order does not depend on the order of the input, and marked pods come first.
func FuzzRankForDeletion(f *testing.F) {
	f.Add("1", "-1", "true", "", int64(0), true)
	f.Add("2147483648", "x", "True", "true", int64(5), false)
	f.Add("", "+0", "true", "true", int64(math.MinInt64), true)
	f.Fuzz(func(t *testing.T, costA, costB, markA, markB string, seconds int64, byAge bool) {
		pod := func(name, cost, mark string, ready int64) *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.PodDeletionCost: cost, v1.AnnotationDelete: mark}}}
			p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
			p.CreationTimestamp = metav1.NewTime(time.Unix(ready, 0))
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: p.CreationTimestamp}}
			return p
		}
		pods := []*corev1.Pod{pod("a", costA, markA, 0), pod("b", costB, markB, seconds), pod("c", costB, markA, 0), pod("d", costA, markB, seconds)}
		ranked := RankForDeletion(pods, byAge)
		slices.Reverse(pods)
		if again := RankForDeletion(pods, byAge); !slices.Equal(ranked, again) {
			t.Fatalf("the order depends on the order of the input: %v, %v", names(ranked), names(again))
		}
		for i := 1; i < len(ranked); i++ {
			before, after := ranked[i-1], ranked[i]
			if IsMarked(after) && !IsMarked(before) {
				t.Errorf("%v: %s is marked, and comes after a pod that is not", names(ranked), after.Name)
			}
			if IsMarked(after) == IsMarked(before) && costOf(t, before) > costOf(t, after) {
				t.Errorf("%v: %s has a higher deletion cost than the next pod", names(ranked), before.Name)
			}
		}
	})
}

// costOf parses a cost like the API server: it has to fit into 32 bits. Anything else counts as 0.
func costOf(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	cost, err := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost])
	if err != nil || cost > math.MaxInt32 || cost < math.MinInt32 {
		return 0
	}
	return cost
}

func names(pods []*corev1.Pod) (all []string) {
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

// Trimmed pods share their containers. Still, each pod keeps its own values, whatever other pods look like.
func FuzzTrim(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"app","image":"nginx 5"}]}}`), []byte(`{"spec":{"containers":[{"name":"app","image":"nginx","startupProbe":{"periodSeconds":5}}]}}`))
	f.Add([]byte(`{"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"cpu":"1","memory":"1Gi"}}},{"name":"c","image":"d"}]}}`),
		[]byte(`{"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"c","image":"d"}]}}`))
	f.Add([]byte(`{"metadata":{"labels":{"podmanager":"web"},"annotations":{"apps.mycompany.com/delete":"true"}},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"PodScheduled","status":"True"}]}}`),
		[]byte(`{"status":{"phase":"Failed","containerStatuses":[{"name":"app","restartCount":3,"started":false,"state":{"running":{}}}]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, data := range [][]byte{a, b, a} {
			pod := &corev1.Pod{}
			if json.Unmarshal(data, pod) != nil {
				return
			}
			trimmed := pod.DeepCopy()
			Trim(trimmed)
			checkTrimmed(t, pod, trimmed)
			again := trimmed.DeepCopy()
			if Trim(again); !equality.Semantic.DeepEqual(again, trimmed) {
				t.Errorf("trimmed twice:\n%v\nonce:\n%v", again, trimmed)
			}
		}
	})
}

func checkTrimmed(t *testing.T, pod, trimmed *corev1.Pod) {
	t.Helper()
	if len(trimmed.Spec.Containers) != len(pod.Spec.Containers) {
		t.Fatalf("%d containers of %d", len(trimmed.Spec.Containers), len(pod.Spec.Containers))
	}
	for i := range pod.Spec.Containers {
		want, got := &pod.Spec.Containers[i], &trimmed.Spec.Containers[i]
		period := func(c *corev1.Container) int32 {
			if c.StartupProbe == nil {
				return -1
			}
			return max(0, c.StartupProbe.PeriodSeconds)
		}
		if got.Name != want.Name || got.Image != want.Image || period(got) != period(want) ||
			!equality.Semantic.DeepEqual(got.Resources.Requests, want.Resources.Requests) || !equality.Semantic.DeepEqual(got.Resources.Limits, want.Resources.Limits) {
			t.Errorf("container %+v became %+v", want, got)
		}
	}
	if MostRestarts(pod) != MostRestarts(trimmed) || IsReady(pod) != IsReady(trimmed) || IsMarked(pod) != IsMarked(trimmed) ||
		deletionCost(pod) != deletionCost(trimmed) || Disruption(pod) != Disruption(trimmed) || ResizeTrouble(pod) != ResizeTrouble(trimmed) {
		t.Errorf("other facts follow from the trimmed pod than from the complete one:\n%v\n%v", trimmed, pod)
	}
}
