package health_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func TestDiagnose(t *testing.T) {
	unscheduled := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/5 nodes are\navailable",
		}}
	}
	// cutOff makes a ready pod look as the node controller leaves it when the kubelet stops reporting.
	cutOff := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		p.Status.ContainerStatuses[0].Ready = true
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	// gates gives a pod readiness gates with these conditions. According to the kubelet, only readiness gates keep the pod from being ready.
	gates := func(conditions ...corev1.PodCondition) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: "the gate is not open"}}
			for _, condition := range conditions {
				p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: condition.Type})
				if condition.Status != "" {
					p.Status.Conditions = append(p.Status.Conditions, condition)
				}
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Ready: true, State: running}}
		}
	}
	closed, opened := corev1.PodCondition{Type: v1.InPlaceReady, Status: corev1.ConditionFalse}, corev1.PodCondition{Type: v1.InPlaceReady, Status: corev1.ConditionTrue}
	missing := corev1.PodCondition{Type: v1.InPlaceReady}
	registered := corev1.PodCondition{Type: "example.com/registered", Status: corev1.ConditionFalse, Reason: "Pending", Message: "no address yet"}
	tests := map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"our drain":                 {pods: []*corev1.Pod{Pod(0, gates(closed))}, want: "web-0: out of its Services for an update in place"},
		"our drain is over":         {pods: []*corev1.Pod{Pod(0, gates(opened))}, want: "web-0: its containers are ready, and it is about to join its Services"},
		"our gate is not there yet": {pods: []*corev1.Pod{Pod(0, gates(missing))}, want: "web-0: its containers are ready, and it is about to join its Services"},
		"another gate":              {pods: []*corev1.Pod{Pod(0, gates(opened, registered))}, want: "web-0: the condition of its readiness gate example.com/registered is not True: Pending: no address yet"},
		"another gate, not set yet": {pods: []*corev1.Pod{Pod(0, gates(missing, corev1.PodCondition{Type: "example.com/registered"}))}, want: "web-0: the condition of its readiness gate example.com/registered is not True"},
		"all are in service":        {pods: Pods3(), want: ""},
		"a new pod":                 {pods: []*corev1.Pod{Pod(0, Phase(""))}, want: "web-0: new"},
		"pending":                   {pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending), OnNode(""))}, want: "web-0: pending"},
		"admitted by the kubelet":   {pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending), func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: Now} })}, want: "web-0: pending"},
		"a node that does not exist": {pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending), OnNode("gone"))},
			want: "web-0: node gone has not accepted the pod; if that lasts, check that the node exists and is ready"},
		"a node that has a moment left": {pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending), CreatedAgo(time.Second))}, want: "web-0: pending"},
		"bound a moment ago, after a long wait": {pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Now.Add(-time.Second))}}
		})}, want: "web-0: pending"},
		"a new pod whose kubelet is silent": {pods: []*corev1.Pod{Pod(0, Container(running, corev1.ContainerState{}), cutOff, OnNode("far"), CreatedAgo(time.Second))}, want: "web-0: running"},
		"being created":                     {pods: []*corev1.Pod{Pod(0, Container(Waiting("ContainerCreating", ""), corev1.ContainerState{}))}, want: "web-0: running"},
		"probes fail":                       {pods: []*corev1.Pod{Pod(0, Container(running, corev1.ContainerState{}))}, want: "web-0: container app: not ready"},
		"the startup probe fails": {pods: []*corev1.Pod{Pod(0, Container(running, corev1.ContainerState{}), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Started = ptr.To(false)
		})}, want: "web-0: container app: its startup probe has not succeeded yet"},
		"image":                  {pods: []*corev1.Pod{Pod(0, Container(Waiting("ImagePullBackOff", "no such image"), corev1.ContainerState{}))}, want: "web-0: container app: ImagePullBackOff: no such image"},
		"crash loop":             {pods: []*corev1.Pod{Pod(0, Container(Waiting("CrashLoopBackOff", "back-off 10s"), Terminated("OOMKilled", 137)))}, want: "web-0: container app: CrashLoopBackOff: OOMKilled, exit code 137"},
		"just crashed":           {pods: []*corev1.Pod{Pod(0, Container(Terminated("Error", 2), corev1.ContainerState{}))}, want: "web-0: container app: Error, exit code 2"},
		"its kubelet is silent":  {pods: []*corev1.Pod{Pod(0, Container(running, corev1.ContainerState{}), cutOff, OnNode("far"))}, want: "web-0: not ready, although its containers are ready; check whether node far is ready"},
		"unschedulable":          {pods: []*corev1.Pod{Pod(0, unscheduled)}, want: "web-0: Unschedulable: 0/5 nodes are available"},
		"the worst one is named": {pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending)), Pod(1, unscheduled), Pod(2, Container(Terminated("Error", 2), corev1.ContainerState{})), Pod(3, unscheduled)}, want: "web-2: container app: Error, exit code 2"},
		"the first of equals":    {pods: []*corev1.Pod{Pod(10, unscheduled), Pod(9, unscheduled)}, want: "web-9: Unschedulable: 0/5 nodes are available"},
		"init containers too": {pods: []*corev1.Pod{Pod(0, NotReady, func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: Terminated("Error", 1)}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: Waiting("PodInitializing", "")}}
		})}, want: "web-0: container init: Error, exit code 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Diagnose(test.pods, Now).String(); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			var trimmed []*corev1.Pod // as the controller has them
			for _, pod := range test.pods {
				trimmed = append(trimmed, pod.DeepCopy())
				podstate.Trim(trimmed[len(trimmed)-1])
			}
			if got := Diagnose(trimmed, Now).String(); got != test.want {
				t.Errorf("of trimmed pods\ngot  %q\nwant %q", got, test.want)
			}
		})
	}
}

// In the first moments of a rollout, no message names a node. UntilNodeIsNamed announces when a message will name a node that stays silent.
func TestUntilNodeIsNamed(t *testing.T) {
	accepted := func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: Now} }
	pending := Phase(corev1.PodPending)
	tests := map[string]struct {
		pods []*corev1.Pod
		want time.Duration
	}{
		"all run":      {Pods3(), 0},
		"just created": {[]*corev1.Pod{Pod(0), Pod(1, pending, CreatedAgo(time.Second))}, 29 * time.Second},
		"the first":    {[]*corev1.Pod{Pod(0, pending, CreatedAgo(time.Second)), Pod(1, pending, CreatedAgo(10*time.Second))}, 20 * time.Second},
		"long ago":     {[]*corev1.Pod{Pod(0, pending)}, 0},
		"accepted":     {[]*corev1.Pod{Pod(0, pending, CreatedAgo(time.Second), accepted)}, 0},
		"without one":  {[]*corev1.Pod{Pod(0, pending, CreatedAgo(time.Second), OnNode(""))}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := UntilNodeIsNamed(test.pods, Now)
			if got != test.want {
				t.Fatalf("got %v, want %v", got, test.want)
			}
			isNamed := func(now time.Time) bool { return strings.Contains(Diagnose(test.pods, now).Text, "has not accepted") }
			if got > 0 && (isNamed(Now.Add(got-time.Millisecond)) || !isNamed(Now.Add(got))) {
				t.Errorf("the node is named at another time than %v", got)
			}
		})
	}
}

// A terminating pod is overdue half a minute after its grace period. The first one is named, with what keeps it.
func TestDescribeOverdue(t *testing.T) {
	ending := func(ago time.Duration, finalizers ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: Now.Add(-ago)}, finalizers
		}
	}
	tests := map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"none":                  {nil, ""},
		"within its time":       {[]*corev1.Pod{Pod(0, ending(29*time.Second))}, ""},
		"its node":              {[]*corev1.Pod{Pod(0, ending(30*time.Second))}, "web-0: terminating, and should have been gone by 2026-01-02T03:03:35Z: check whether node node-0 is ready"},
		"its finalizers":        {[]*corev1.Pod{Pod(0, ending(time.Minute, "a/b", "c/d"))}, "web-0: terminating, and should have been gone by 2026-01-02T03:03:05Z: its finalizers keep it (a/b, c/d)"},
		"it was on no node":     {[]*corev1.Pod{Pod(0, ending(time.Minute), OnNode(""))}, "web-0: terminating, and should have been gone by 2026-01-02T03:03:05Z"},
		"the first that is due": {[]*corev1.Pod{Pod(10, ending(time.Hour)), Pod(9, ending(time.Minute), OnNode("")), Pod(8, ending(0))}, "web-9: terminating, and should have been gone by 2026-01-02T03:03:05Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := DescribeOverdue(test.pods, Now).String(); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestDiagnosisIsShort(t *testing.T) {
	long := Pod(0, Container(Waiting("ErrImagePull", strings.Repeat("é ", 5000)), corev1.ContainerState{}))
	if got := Diagnose([]*corev1.Pod{long}, Now).String(); len([]rune(got)) > 300 {
		t.Errorf("the description has %d characters", len([]rune(got)))
	}
}

func TestFailureOf(t *testing.T) {
	tests := map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"none":                          {},
		"crash loop, down":              {pods: []*corev1.Pod{Pod(0, Crashing)}, want: "web-0: container app: CrashLoopBackOff: Error, exit code 3"},
		"crash loop, up":                {pods: []*corev1.Pod{Pod(0, Crashed(2, time.Second))}, want: "web-0: container app: CrashLoopBackOff: Error, exit code 1"},
		"crashed once":                  {pods: []*corev1.Pod{Pod(0, Crashed(1, time.Second))}, want: "web-0: container app: Error, exit code 1"},
		"image":                         {pods: []*corev1.Pod{Pod(0, Container(Waiting("ErrImagePull", "no such image"), corev1.ContainerState{}))}, want: "web-0: container app: ErrImagePull: no such image"},
		"evicted":                       {pods: []*corev1.Pod{Pod(0, Stopped("Evicted", "low on memory"))}, want: "web-0: has failed: Evicted: low on memory"},
		"the first by index":            {pods: []*corev1.Pod{Pod(10, Crashing), Pod(9, Crashing)}, want: "web-9: container app: CrashLoopBackOff: Error, exit code 3"},
		"the pod with a message first":  {pods: []*corev1.Pod{Pod(0, After(1)), Pod(1, Crashing)}, want: "web-1: container app: CrashLoopBackOff: Error, exit code 3"},
		"no message but the annotation": {pods: []*corev1.Pod{Pod(0, After(1))}, want: "web-0: replaces a failed pod, and has not been ready for long enough yet"},
		"ended without a message":       {pods: []*corev1.Pod{Pod(0, Stopped("", ""))}, want: "web-0: is no longer running"},
		"no message and no annotation":  {pods: []*corev1.Pod{Pod(0)}, want: "web-0: has failed, and has not been ready for long enough since"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := DescribeFailure(test.pods).String(); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestFailureOfDoesNotDependOnTheOrderGiven(t *testing.T) {
	a, b := Pod(0, After(1)), Pod(1, After(1))
	if one, other := DescribeFailure([]*corev1.Pod{a, b}), DescribeFailure([]*corev1.Pod{b, a}); one != other {
		t.Errorf("described as %q, and in another order as %q", one, other)
	}
}
