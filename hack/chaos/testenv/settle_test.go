package testenv

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The comparison finds every difference between the objects and what the user wants, or what the status says.
func TestComparison(t *testing.T) {
	wants := Want{Replicas: 2, Image: "v1"}
	good := Owner{Name: "web", uid: "u", generation: 3, observed: 3, wanted: 2, active: 2, ready: 2, done: true}
	with := func(change func(*Owner)) Owner { o := good; change(&o); return o }
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "PodManager", Name: "web", UID: "u", Controller: ptr.To(true)}}
		p.Spec.Containers = []corev1.Container{{Image: "v1"}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if change != nil {
			change(p)
		}
		return p
	}
	a, b := pod("a", nil), pod("b", nil)
	tests := map[string]struct {
		owner Owner
		pods  []*corev1.Pod
		want  string
	}{
		"all is well":       {good, []*corev1.Pod{a, b}, ""},
		"a pod is missing":  {good, []*corev1.Pod{a}, "I3 I5"},
		"one too many":      {good, []*corev1.Pod{a, b, pod("c", nil)}, "I3 I5"},
		"not ready":         {good, []*corev1.Pod{a, pod("b", func(p *corev1.Pod) { p.Status.Conditions = nil })}, "I3 I5"},
		"still ending":      {good, []*corev1.Pod{a, b, pod("c", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })}, "I3"},
		"a failed one kept": {good, []*corev1.Pod{a, b, pod("c", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}, ""},
		"an old image":      {good, []*corev1.Pod{a, pod("b", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "v0" })}, "I3"},
		"an orphan":         {good, []*corev1.Pod{a, b, pod("c", func(p *corev1.Pod) { p.OwnerReferences = nil })}, "I2"},
		"a stranger's pod":  {good, []*corev1.Pod{a, b, pod("c", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "dead" })}, "I2"},
		"an old status":     {with(func(o *Owner) { o.observed = 2 }), []*corev1.Pod{a, b}, "I5"},
		"a wrong count":     {with(func(o *Owner) { o.active = 3 }), []*corev1.Pod{a, b}, "I5"},
		"never done":        {with(func(o *Owner) { o.done = false }), []*corev1.Pod{a, b}, "I5"},
		"a lost edit":       {with(func(o *Owner) { o.wanted = 5 }), []*corev1.Pod{a, b}, "I3"},
		"one not deleted":   {with(func(o *Owner) { o.Name = "old" }), nil, "I2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &comparison{wanted: map[string]Want{"web": wants}, pods: map[types.UID][]*corev1.Pod{}, updates: true}
			for _, pod := range test.pods {
				c.add(pod)
			}
			c.compare(test.owner)
			c.rest()
			found := ""
			for _, problem := range c.problems {
				found += problem.Invariant + " "
			}
			if test.owner.Name == "old" { // in this case web does not exist, either
				test.want += " I3"
			}
			if strings.TrimSpace(found) != strings.TrimSpace(test.want) {
				t.Errorf("found %s, want %s", fmt.Sprint(c.problems), test.want)
			}
		})
	}
}

// The slowest write that overlaps an operation extends its limit. Earlier writes do not, and the extension is at most Slack times that write.
func TestIsOver(t *testing.T) {
	const limit = 10 * time.Second
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	tests := map[string]struct {
		// writes are the starts and ends of writes, relative to the start of the operation.
		writes [][2]time.Duration
		after  time.Duration
		want   bool
	}{
		"in time":                      {nil, limit, false},
		"a moment too late":            {nil, limit + 1, true},
		"within the allowance":         {[][2]time.Duration{{ms(1000), ms(1400)}}, limit + Slack*ms(400), false},
		"past the allowance":           {[][2]time.Duration{{ms(1000), ms(1400)}}, limit + Slack*ms(400) + 1, true},
		"the slowest write counts":     {[][2]time.Duration{{ms(10), ms(20)}, {ms(1000), ms(1400)}, {ms(2000), ms(2010)}}, limit + Slack*ms(400), false},
		"writes do not add up":         {[][2]time.Duration{{ms(1000), ms(1400)}, {ms(2000), ms(2400)}}, limit + Slack*ms(400) + 1, true},
		"slow before, not now":         {[][2]time.Duration{{-ms(9000), -ms(1000)}, {ms(1000), ms(1001)}}, limit + Slack*ms(1) + 1, true},
		"slow when it began":           {[][2]time.Duration{{-ms(300), ms(100)}}, limit + Slack*ms(400), false},
		"a write that is not over yet": {[][2]time.Duration{{ms(10000), 0}}, limit + ms(1000), false},
		"one that began just now":      {[][2]time.Duration{{limit + ms(900), 0}}, limit + ms(1000), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now().Add(time.Minute)
				e := &Env{Run: &Run{Latency: NewLatency(writesAt(began, test.writes)...)}}
				time.Sleep(time.Minute + test.after)
				if got := e.IsOver(began, limit); got != test.want {
					t.Errorf("%v after the beginning, with a limit of %v: over is %v", test.after, limit, got)
				}
			})
		})
	}
}

func writesAt(began time.Time, times [][2]time.Duration) (writes []Write) {
	for _, each := range times {
		b := Write{From: began.Add(each[0])}
		if each[1] != 0 {
			b.To = began.Add(each[1])
		}
		writes = append(writes, b)
	}
	return writes
}
