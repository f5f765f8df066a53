package serve

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestWriteObjects(t *testing.T) {
	web := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "web", Generation: 7, CreationTimestamp: metav1.Unix(1700000000, 0)},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](5), Paused: true, Disruption: &v1.Disruption{}},
		Status: v1.PodManagerStatus{
			ObservedGeneration: 6, Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, UpdatedReplicas: 1, TerminatingReplicas: 9, UpdateRevision: "web-1\\\"\n",
			LeavingPods: []v1.LeavingPod{{Name: "web-0", Cause: v1.LeavingForDrain}, {Name: "web-1", Cause: v1.LeavingForNodeLoss}, {Name: "web-2", Cause: v1.LeavingForDrain}},
			Conditions: []metav1.Condition{
				{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonPaused},
				{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1.ReasonEnough},
			},
		},
	}
	fresh := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "new", Generation: 1, CreationTimestamp: metav1.Unix(1700000001, 0)}}
	fresh.Status.ObservedGeneration = -1
	var out strings.Builder
	if err := writeObjects(&out, []*v1.PodManager{web, fresh}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`# HELP kube_podmanager_spec_replicas Pods wanted.
# TYPE kube_podmanager_spec_replicas gauge
kube_podmanager_spec_replicas{namespace="a",podmanager="new"} 3
kube_podmanager_spec_replicas{namespace="b",podmanager="web"} 5
# HELP kube_podmanager_spec_paused 1 if rollouts are paused, otherwise 0.
# TYPE kube_podmanager_spec_paused gauge
kube_podmanager_spec_paused{namespace="a",podmanager="new"} 0
kube_podmanager_spec_paused{namespace="b",podmanager="web"} 1
`,
		"\nkube_podmanager_status_replicas{namespace=\"b\",podmanager=\"web\"} 4\n",
		"\nkube_podmanager_status_replicas_ready{namespace=\"b\",podmanager=\"web\"} 3\n",
		"\nkube_podmanager_status_replicas_available{namespace=\"b\",podmanager=\"web\"} 2\n",
		"\nkube_podmanager_status_replicas_updated{namespace=\"b\",podmanager=\"web\"} 1\n",
		"\nkube_podmanager_status_replicas_terminating{namespace=\"b\",podmanager=\"web\"} 9\n",
		"\nkube_podmanager_metadata_generation{namespace=\"b\",podmanager=\"web\"} 7\n",
		"\nkube_podmanager_status_observed_generation{namespace=\"a\",podmanager=\"new\"} -1\n",
		"\nkube_podmanager_status_observed_generation{namespace=\"b\",podmanager=\"web\"} 6\n",
		"\nkube_podmanager_created{namespace=\"b\",podmanager=\"web\"} 1700000000\n",
		"\nkube_podmanager_info{namespace=\"b\",podmanager=\"web\",update_revision=\"web-1\\\\\\\"\\n\"} 1\n",
		`# TYPE kube_podmanager_status_replicas_leaving gauge
kube_podmanager_status_replicas_leaving{namespace="b",podmanager="web",cause="drain"} 2
kube_podmanager_status_replicas_leaving{namespace="b",podmanager="web",cause="node loss"} 1
kube_podmanager_status_replicas_leaving{namespace="b",podmanager="web",cause="age"} 0
# HELP`,
		`# TYPE kube_podmanager_status_condition gauge
kube_podmanager_status_condition{namespace="b",podmanager="web",condition="Ready",status="false",reason="Paused"} 1
kube_podmanager_status_condition{namespace="b",podmanager="web",condition="Available",status="true",reason="EnoughReplicas"} 1
`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, &out)
		}
	}
	const families, series = 13, 2*11 + 2 + 3
	if lines := strings.Count(out.String(), "\n"); lines != 2*families+series {
		t.Errorf("%d lines, want %d:\n%s", lines, 2*families+series, &out)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteObjectsFails(t *testing.T) {
	if err := writeObjects(brokenPipe{}, nil); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("the error is %v", err)
	}
}
