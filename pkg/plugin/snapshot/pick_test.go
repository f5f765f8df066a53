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
		"1": "web-0 web-1", "2": "web-2 web-3", "3": `web has no revision "3"; use new, old, or a number or hash that 'kubectl pm history web -n ns' shows`,
		"x": `web has no revision "x"; use new, old, or a number or hash that 'kubectl pm history web -n ns' shows`,
	} {
		t.Run(revision, func(t *testing.T) {
			pods, err := rolling().PodsOf(revision)
			if got := strings.Join(Names(pods), " "); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
	done := RollingOut(Next(4), Pod(0, V2), Pod(1, V2))
	for revision, want := range map[string]string{
		"old": "no pod of web has an old revision", "1": "no pod of web has revision 1", "web-" + RevisionFor(Manager(4)).Hash: "no pod of web has revision 1",
	} {
		s := snapshot.New(done.Manager, done.Pods, done.Revisions, nil, Now)
		if pods, err := s.PodsOf(revision); err == nil || err.Error() != want {
			t.Errorf("%s, when all pods are updated: got %v, %v", revision, pods, err)
		}
	}
	if _, err := snapshot.New(Next(4), Pods3(), nil, nil, Now).PodsOf("new"); err == nil || err.Error() != "no pod of web has the new revision" {
		t.Errorf("new, when no pod is updated: got %v", err)
	}
	unnumbered := snapshot.New(done.Manager, done.Pods, nil, []string{"controllerrevisions"}, Now)
	if _, err := unnumbered.PodsOf("1"); err == nil || !strings.HasPrefix(err.Error(), "you may not list controllerrevisions in namespace ns; ") {
		t.Errorf("a number without a right: got %v", err)
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
