package snapshot_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// rolling returns web with two pods of the old revision and two of the new one.
func rolling(change ...func(*corev1.Pod)) snapshot.Snapshot {
	o := RollingOut(Next(4), Pod(0), Pod(1), Pod(2, append(change, V2)...), Pod(3, V2))
	return snapshot.New(o.Manager, o.Pods, o.Revisions, nil, Now)
}

func TestPodsOf(t *testing.T) {
	hash := RevisionFor(Next(4)).Hash
	for revision, want := range map[string]string{
		"": "web-0 web-1 web-2 web-3", "new": "web-2 web-3", "old": "web-0 web-1", hash: "web-2 web-3", "web-" + hash: "web-2 web-3",
		"x": "has no pod of the revision",
	} {
		t.Run(revision, func(t *testing.T) {
			pods, err := rolling().PodsOf(revision)
			if got := strings.Join(Names(pods), " "); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
	hidden := snapshot.New(Manager(3), nil, nil, []string{"pods"}, Now)
	hidden.User = "jane"
	const want = "you may not list pods in namespace ns; the role view grants this right: " +
		"kubectl create rolebinding jane-view --clusterrole=view --user=jane --namespace=ns"
	if _, err := hidden.PodsOf(""); err == nil || err.Error() != want {
		t.Errorf("without a right: got  %v\nwant %s", err, want)
	}
}

func TestPick(t *testing.T) {
	tests := map[string]struct {
		snapshot snapshot.Snapshot
		want     string
	}{
		"of the new revision":      {rolling(), "web-2"},
		"available comes first":    {rolling(NotReady), "web-3"},
		"a terminating pod is out": {rolling(Terminating), "web-3"},
		"a pending pod is out":     {rolling(Phase(corev1.PodPending)), "web-3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if pod, err := test.snapshot.Pick(test.snapshot.Pods); err != nil || pod.Name != test.want {
				t.Errorf("got %v, %v", pod, err)
			}
		})
	}
	s := snapshot.New(Manager(1), nil, nil, nil, Now)
	if _, err := s.Pick([]*corev1.Pod{Pod(0, Phase(corev1.PodFailed))}); err == nil {
		t.Error("a failed pod was picked")
	}
}
