package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

func TestFailedPods(t *testing.T) {
	older := Labelled(v1.LabelRevision, "older")
	tests := map[string]struct {
		observed Observed
		want     want
	}{
		"a replacement that fails is not replaced at once": {
			observed: Observe(Manager(1), FailedPod(0, 4*time.Second, 1)),
			want:     want{again: 6 * time.Second},
		},
		"it is replaced after its backoff, and the failures are counted": {
			observed: Observe(Manager(1), FailedPod(0, 10*time.Second, 1)),
			want:     want{create: []int{1}, failures: []int{2}},
		},
		"three failures in a row: the backoff is longer": {
			observed: Observe(Manager(1), FailedPod(0, 10*time.Second, 2)),
			want:     want{again: 10 * time.Second},
		},
		"a failed pod in backoff is kept whatever failedPodsHistoryLimit": {
			observed: Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Second, 1)),
			want:     want{again: 9 * time.Second},
		},
		"two failed pods in backoff: the next sync is when the first is over": {
			observed: Observe(Manager(2), FailedPod(0, time.Second, 1), FailedPod(1, 4*time.Second, 1)),
			want:     want{again: 6 * time.Second},
		},
		"a deleted pod is replaced while a failed one is in backoff": {
			observed: Observe(Manager(3), Pod(0), FailedPod(1, time.Second, 1)),
			want:     want{create: []int{2}, again: 9 * time.Second},
		},
		"a failed pod that has been replaced is in no backoff": {
			observed: Observe(Manager(2), Pod(0, Replacing("web-1")), FailedPod(1, time.Second, 1)),
			want:     want{create: []int{2}},
		},
		"a failed pod whose replacement has failed, too, is replaced once": {
			observed: Observe(Manager(3), FailedPod(0, 2*time.Minute, 0), FailedPod(1, 10*time.Second, 1, Replacing("web-0"))),
			want:     want{create: []int{2, 3, 4}, failures: []int{2, 0, 0}, remove: []string{"web-0"}, why: rollout.WhyFinished},
		},
		"a failed pod is not replaced by the replacement of another one, even if all of them have failed in the same second": {
			observed: Observe(Manager(2), FailedPod(0, 10*time.Second, 0), FailedPod(1, 10*time.Second, 1, Replacing("web-3"), CreatedAgo(10*time.Second))),
			want:     want{create: []int{2, 3}, failures: []int{2, 1}},
		},
		"a pod may be the replacement of several": {
			observed: Observe(Manager(2), FailedPod(0, 2*time.Minute, 0), FailedPod(1, 10*time.Second, 3), Pod(2, Replacing("web-0", "web-1"))),
			want:     want{create: []int{3}, failures: []int{0}, remove: []string{"web-0"}, why: rollout.WhyFinished},
		},
		"a failed pod is not replaced by one of another revision": {
			observed: Observe(Manager(2), FailedPod(0, 2*time.Minute, 0), FailedPod(1, 10*time.Second, 1, older, Replacing("web-0"))),
			want:     want{create: []int{2, 3}, failures: []int{1, 0}},
		},
		"a failed pod that needs no replacement is deleted": {
			observed: Observe(Manager(1, failedPodsKept(0)), Pod(0), FailedPod(1, time.Second, 1)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyFinished},
		},
		"a failed pod is not kept while the PodManager is paused from the start": {
			observed: With(Observe(Manager(2, failedPodsKept(0), Paused), FailedPod(0, time.Second, 0)),
				func(o *Observed) { o.Manager.Status = v1.PodManagerStatus{} }),
			want: want{remove: []string{"web-0"}, why: rollout.WhyFinished},
		},
		"a changed template is tried at once": {
			observed: Observe(Manager(1), FailedPod(0, time.Second, 5, older)),
			want:     want{create: []int{1}},
		},
		"a pod that had lived for long starts counting anew": {
			observed: Observe(Manager(1), FailedPod(0, time.Second, 5, CreatedAgo(time.Hour))),
			want:     want{create: []int{1}, failures: []int{1}},
		},
		"a failed pod is kept until its replacement exists: a create may fail": {
			observed: Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Hour, 3)),
			want:     want{create: []int{1}, failures: []int{4}},
		},
		"a failed pod is kept while creates are blocked": {
			observed: With(Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Hour, 3)), InBackoff(Now.Add(time.Second))),
			want:     want{blocked: true, again: time.Second},
		},
		"a failed pod is deleted once its replacement exists": {
			observed: Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Hour, 3), Pod(1, Replacing("web-0"))),
			want:     want{remove: []string{"web-0"}, why: rollout.WhyFinished},
		},
		"a node's clock that is ahead delays no replacement": {
			observed: Observe(Manager(1), FailedPod(0, -time.Hour, 0, CreatedAgo(time.Minute))),
			want:     want{create: []int{1}, failures: []int{1}},
		},
		"a negative number in the annotation counts as none": {
			observed: Observe(Manager(1), FailedPod(0, time.Second, 0, Annotated(v1.AnnotationFailuresBefore, "-3"))),
			want:     want{create: []int{1}, failures: []int{1}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, Make(test.observed), test.want)
		})
	}
}

// The status names the failed pod whose backoff ends next, on whichever side of the rollout it is.
func TestNextBackoff(t *testing.T) {
	for want, ago := range map[string][2]time.Duration{"web-0": {9 * time.Second, time.Second}, "web-3": {time.Second, 9 * time.Second}} {
		m := Next(4, Partition("2"), MaxFailed("3"))
		plan := Make(RollingOut(m, FailedPod(0, ago[0], 1), Pod(1), Pod(2, V2), FailedPod(3, ago[1], 1, V2)))
		if plan.Waiting == nil || plan.Waiting.Pod.Name != want {
			t.Errorf("waits for %v, want %s", plan.Waiting, want)
		}
	}
}

// A PodManager whose pods always fail creates few pods.
func TestAlwaysFailing(t *testing.T) {
	const replicas = 3
	o := Observe(Manager(replicas))
	created := 0
	for second := range 3600 {
		o.Now = Now.Add(time.Duration(second) * time.Second)
		plan := Make(o)
		for _, deletion := range plan.Delete {
			o.Pods = without(o.Pods, deletion.Pod)
		}
		for _, creation := range plan.Create {
			// The pod fails at once. Its status has no times, so the time of its creation counts as the time of the failure.
			p := NewPod(o.Manager, creation)
			p.UID, p.CreationTimestamp = uuid.NewUUID(), metav1.NewTime(o.Now)
			p.Status.Phase = corev1.PodFailed
			o.Pods = append(o.Pods, p)
			created++
		}
	}
	// Each of the pods is created at most 13 times in an hour: after 0, 0, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600 and 600 seconds.
	if limit := replicas * 13; created > limit {
		t.Errorf("%d pods created in an hour, want at most %d", created, limit)
	}
}

func without(pods []*corev1.Pod, gone *corev1.Pod) []*corev1.Pod {
	var others []*corev1.Pod
	for _, p := range pods {
		if p != gone {
			others = append(others, p)
		}
	}
	return others
}

// If an autoscaler scales up from zero, all pods are created at once, even if there was a backoff, a bake or a rollout before the scale to zero.
func TestFromZero(t *testing.T) {
	fromZero := func(m *v1.PodManager) {
		m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonScaledToZero}}
	}
	inBackOff := FailedPod(0, time.Second, 5)
	tests := map[string]struct {
		observed Observed
		want     int
	}{
		"a backoff":            {Observe(Manager(3, fromZero), inBackOff), 3},
		"a backoff, one pod":   {Observe(Manager(1, fromZero), inBackOff), 1},
		"not from zero":        {Observe(Manager(1), inBackOff), 0},
		"a bake":               {RollingOut(Next(10, Limits("1", "0"), Baking(time.Second), fromZero)), 10},
		"in mid-rollout":       {RollingOut(Next(10, Limits("1", "0"), Rolled(1, time.Minute, 0), fromZero)), 10},
		"a backoff in a bake":  {RollingOut(Next(4, Limits("1", "0"), Baking(time.Second), fromZero), FailedPod(0, time.Second, 5, V2)), 4},
		"a backoff of old one": {RollingOut(Next(4, Limits("1", "0"), fromZero), inBackOff), 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Make(test.observed).Create; len(got) != test.want {
				t.Errorf("creates %d pods, want %d", len(got), test.want)
			}
		})
	}
}
