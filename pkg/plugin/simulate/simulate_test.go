package simulate_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/plugin/plugintest"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// atRest returns web with the given number of pods, all of image nginx and ready for an hour. The pods are created from its spec.
func atRest(replicas int32, change ...func(*v1.PodManager)) snapshot.Snapshot {
	m := Manager(replicas, change...)
	stored := Stored(m, 1)
	var pods []*corev1.Pod
	for index := range int(replicas) {
		pod := plan.NewPod(m, plan.Creation{Index: index, Revision: RevisionFor(m)})
		like := Pod(index)
		pod.UID, pod.CreationTimestamp, pod.Generation, pod.Spec.NodeName = like.UID, like.CreationTimestamp, 1, like.Spec.NodeName
		pod.Status = like.Status
		pod.Status.StartTime, pod.Status.ObservedGeneration = &pod.CreationTimestamp, 1
		for _, gate := range pod.Spec.ReadinessGates {
			pod.Status.Conditions = append(pod.Status.Conditions,
				corev1.PodCondition{Type: gate.ConditionType, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp})
		}
		pods = append(pods, pod)
	}
	o := Observe(m, pods...)
	o.Revisions = []*appsv1.ControllerRevision{stored}
	m.Status, _ = status.Compute(Planned(o))
	return snapshot.New(m, pods, o.Revisions, nil, Now)
}

// halfway returns web in a rollout from nginx to v2: two pods have v2.
func halfway(replicas int32) snapshot.Snapshot {
	before, after := atRest(replicas), atRest(2, Image("v2"))
	for i, pod := range after.Pods {
		before.Pods[i].Spec, before.Pods[i].Labels = pod.Spec, pod.Labels
	}
	m := with(before, Image("v2"))
	m.Generation++
	o := Observe(m, before.Pods...)
	o.Revisions = before.Stored
	m.Status, _ = status.Compute(Planned(o))
	m.Status.CurrentRevision = RevisionFor(before.Manager).Name
	Rolled(2, time.Minute, 0)(m)
	return snapshot.New(m, before.Pods, append(before.Stored, Stored(m, 2)), nil, Now)
}

// rolledBack returns a PodManager whose new revision has failed, and whose pods have all returned to the old one.
func rolledBack(count int32) snapshot.Snapshot {
	s := atRest(count)
	s.Manager.Spec.Image = "v2"
	s.Manager.Status.FailedRevision = RevisionFor(s.Manager).Name
	return s
}

// with returns the PodManager that the user applies.
func with(s snapshot.Snapshot, change ...func(*v1.PodManager)) *v1.PodManager {
	wanted := s.Manager.DeepCopy()
	for _, c := range change {
		c(wanted)
	}
	return wanted
}

func replicas(count int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.Replicas = &count }
}

func deadline(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.ProgressDeadlineSeconds = &seconds }
}

func minReady(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.MinReadySeconds = seconds }
}

func maxAge(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		if m.Spec.Disruption == nil {
			m.Spec.Disruption = &v1.Disruption{}
		}
		m.Spec.Disruption.MaxPodAgeSeconds = &seconds
	}
}

func maxTerminating(limit string) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(intstr.Parse(limit))} }
}

// options returns the defaults of the command, with the given pods failing.
func options(t *testing.T, fail ...string) simulate.Options {
	t.Helper()
	chosen, err := simulate.ParseChoice("--fail", fail)
	if err != nil {
		t.Fatal(err)
	}
	return simulate.Options{ReadyAfter: 10 * time.Second, StopAfter: time.Second, Fail: chosen}
}

// If nothing changes, the revision that proves itself is not a new one.
func TestTheSameRevisionIsProven(t *testing.T) {
	live := atRest(2)
	report, err := simulate.Run(live, with(live), options(t))
	if err != nil {
		t.Fatal(err)
	}
	report.Totals.ProvenAtSeconds = ptr.To(47.8)
	if got := text.Join(report.Lines(text.Style{}, false)); !strings.Contains(got, ", and the revision has proven itself after 47.8s") {
		t.Errorf("got\n%s", got)
	}
}

func TestRun(t *testing.T) {
	surge, inPlace := Limits("1", "0"), InPlace(v1.InPlaceIfPossible, 0)
	tests := map[string]struct {
		live   snapshot.Snapshot
		change []func(*v1.PodManager)
		fail   []string
		want   simulate.Outcome
	}{
		"replace":             {atRest(3, surge), []func(*v1.PodManager){Image("v2")}, nil, simulate.Completed},
		"replace-by-default":  {atRest(4), []func(*v1.PodManager){Image("v2"), minReady(5)}, nil, simulate.Completed},
		"recreate":            {atRest(3, Strategy(v1.RecreateStrategy)), []func(*v1.PodManager){Image("v2")}, nil, simulate.Completed},
		"on-delete":           {atRest(3, Strategy(v1.OnDeleteStrategy)), []func(*v1.PodManager){Image("v2")}, nil, simulate.OnDelete},
		"in-place":            {atRest(3, Limits("0", "1"), inPlace), []func(*v1.PodManager){Image("v2")}, nil, simulate.Completed},
		"in-place-drained":    {atRest(2, Limits("0", "1"), InPlace(v1.InPlaceIfPossible, 5)), []func(*v1.PodManager){Image("v2")}, nil, simulate.Completed},
		"partition":           {atRest(4, Limits("1", "0")), []func(*v1.PodManager){Image("v2"), Partition("2")}, nil, simulate.Partitioned},
		"halt":                {atRest(3, surge), []func(*v1.PodManager){Image("v2")}, []string{"every"}, simulate.Halted},
		"halt-in-place":       {atRest(3, Limits("0", "1"), inPlace), []func(*v1.PodManager){Image("v2")}, []string{"every 2"}, simulate.Halted},
		"rollback":            {atRest(3, surge, OnFailure(v1.RollbackOnFailure)), []func(*v1.PodManager){Image("v2")}, []string{"every 2"}, simulate.RolledBack},
		"rollback-in-place":   {atRest(3, Limits("0", "1"), inPlace, OnFailure(v1.RollbackOnFailure)), []func(*v1.PodManager){Image("v2")}, []string{"web-0"}, simulate.RolledBack},
		"continue":            {atRest(3, surge, OnFailure(v1.ContinueOnFailure)), []func(*v1.PodManager){Image("v2"), deadline(120)}, []string{"every"}, simulate.Deadline},
		"scale-down":          {atRest(5), []func(*v1.PodManager){replicas(2)}, nil, simulate.Completed},
		"scale-down-in-paces": {atRest(5), []func(*v1.PodManager){replicas(1), maxTerminating("1")}, nil, simulate.Completed},
		"scale-up-and-change": {atRest(2, surge), []func(*v1.PodManager){replicas(4), Image("v2")}, nil, simulate.Completed},
		"paused":              {atRest(3), []func(*v1.PodManager){Image("v2"), Paused, replicas(4)}, nil, simulate.Held},
		"to-zero":             {atRest(2), []func(*v1.PodManager){replicas(0), Image("v2")}, nil, simulate.Completed},
		"from-zero":           {atRest(0), []func(*v1.PodManager){replicas(2)}, nil, simulate.Completed},
		"no-change":           {atRest(2), nil, []string{"web-1"}, simulate.Completed},
		"max-age":             {atRest(3, surge, maxAge(600)), []func(*v1.PodManager){Image("v2")}, nil, simulate.Completed},
		"max-age-no-change":   {atRest(3, surge, maxAge(600)), nil, nil, simulate.Completed},
		"back-in-mid-rollout": {halfway(5), []func(*v1.PodManager){Image("nginx")}, nil, simulate.Completed},
		"back-after-rollback": {rolledBack(2), []func(*v1.PodManager){Image("nginx")}, nil, simulate.Completed},
		"in-place-only":       {atRest(2, InPlace(v1.InPlaceOnly, 0)), []func(*v1.PodManager){addPort}, nil, simulate.NotInPlace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := simulate.Run(test.live, with(test.live, test.change...), options(t, test.fail...))
			if err != nil {
				t.Fatal(err)
			}
			if report.Outcome != test.want {
				t.Errorf("outcome %s, want %s", report.Outcome, test.want)
			}
			plugintest.Golden(t, name, report.Lines(text.Style{}, false))
		})
	}
}

// addPort makes a change that is not possible in place.
func addPort(m *v1.PodManager) {
	m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: v1.ShorthandContainer, Image: m.Spec.Image, Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
	}}}
	m.Spec.Image = ""
}
