package plan_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

func TestBackOffGrows(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 0, 2: 10 * time.Second, 3: 20 * time.Second, 4: 40 * time.Second, 7: 320 * time.Second, 8: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := health.BackOff(failures); got != want {
			t.Errorf("after %d failures wait %v, want %v", failures, got, want)
		}
	}
}

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
		"but when its time has come, and the next one knows": {
			observed: Observe(Manager(1), FailedPod(0, 10*time.Second, 1)),
			want:     want{create: []int{1}, failures: []int{2}},
		},
		"after three failures in a row it takes longer": {
			observed: Observe(Manager(1), FailedPod(0, 10*time.Second, 2)),
			want:     want{again: 10 * time.Second},
		},
		"a failed pod that waits is kept, whatever the history": {
			observed: Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Second, 1)),
			want:     want{again: 9 * time.Second},
		},
		"two that wait are both kept, and the next one decides when": {
			observed: Observe(Manager(2), FailedPod(0, time.Second, 1), FailedPod(1, 4*time.Second, 1)),
			want:     want{again: 6 * time.Second},
		},
		"a healthy pod that was deleted is replaced meanwhile": {
			observed: Observe(Manager(3), Pod(0), FailedPod(1, time.Second, 1)),
			want:     want{create: []int{2}, again: 9 * time.Second},
		},
		"a failed pod that has been replaced counts no more": {
			observed: Observe(Manager(2), Pod(0, After(2)), FailedPod(1, time.Second, 1)),
			want:     want{create: []int{2}},
		},
		"a failed pod that is not missed does not wait": {
			observed: Observe(Manager(1, failedPodsKept(0)), Pod(0), FailedPod(1, time.Second, 1)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyFinished},
		},
		"a changed template is tried at once": {
			observed: Observe(Manager(1), FailedPod(0, time.Second, 5, older)),
			want:     want{create: []int{1}},
		},
		"a pod that had lived for long starts a new row": {
			observed: Observe(Manager(1), FailedPod(0, time.Second, 5, CreatedAgo(time.Hour))),
			want:     want{create: []int{1}, failures: []int{1}},
		},
		"a failed pod is kept until it has been replaced, for a create may fail": {
			observed: Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Hour, 3)),
			want:     want{create: []int{1}, failures: []int{4}},
		},
		"and while creating is held": {
			observed: With(Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Hour, 3)), Held(Now.Add(time.Second))),
			want:     want{held: true, again: time.Second},
		},
		"then it goes": {
			observed: Observe(Manager(1, failedPodsKept(0)), FailedPod(0, time.Hour, 3), Pod(1, After(4))),
			want:     want{remove: []string{"web-0"}, why: rollout.WhyFinished},
		},
		"a clock that is ahead keeps no place empty": {
			observed: Observe(Manager(1), FailedPod(0, -time.Hour, 0, CreatedAgo(time.Minute))),
			want:     want{create: []int{1}, failures: []int{1}},
		},
		"nonsense in the annotation is no failure": {
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

// Whatever becomes of the pods, a PodManager whose pods always fail creates few of them.
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
			// It fails within the second, and nothing says when but its creation.
			p := NewPod(o.Manager, creation)
			p.CreationTimestamp = metav1.NewTime(o.Now)
			p.Status.Phase = corev1.PodFailed
			o.Pods = append(o.Pods, p)
			created++
		}
	}
	// 0, 0, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600 seconds apart.
	if most := replicas * 13; created > most {
		t.Errorf("%d pods created in an hour, want at most %d", created, most)
	}
}

func without(pods []*corev1.Pod, gone *corev1.Pod) []*corev1.Pod {
	var left []*corev1.Pod
	for _, p := range pods {
		if p != gone {
			left = append(left, p)
		}
	}
	return left
}

func TestBackOffIsTold(t *testing.T) {
	plan := Make(Observe(Manager(1), FailedPod(0, time.Second, 2)))
	report := Reported(Manager(1), FailedPod(0, time.Second, 2))
	report.Plan.Waiting = plan.Waiting
	status, _ := status.Of(report)
	for _, condition := range status.Conditions {
		if condition.Type != v1.ConditionReady {
			continue
		}
		want := "0 of 1 pod exist; web-0 has failed: container app: Error, exit code 1 (3 in a row), next try at 2026-01-02T03:04:24Z"
		if condition.Reason != v1.ReasonBackOff || condition.Message != want {
			t.Errorf("Ready says %s: %s\nwant %s", condition.Reason, condition.Message, want)
		}
	}
	evicted := FailedPod(0, time.Second, 2, func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on memory" })
	if got := (health.Retry{Pod: evicted, Failures: 3}).String(); !strings.Contains(got, "web-0 has failed: Evicted: low on memory (3 in a row)") {
		t.Errorf("said %q", got)
	}
}
