//go:build e2e

package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
)

// templateOf returns a template that puts all pods on one node, so that their placement does not affect which of them is deleted first.
func templateOf(image string) string {
	return "template: {spec: {nodeName: simulated-node-0, containers: [{name: app, image: '" + image + "'}]}}"
}

// A simulation agrees with what happens afterwards: the same actions on the same pods in the same order, the same minimum of available pods, the
// same maximum of pods, and the same outcome. The specs allow only one order of actions: one pod at a time, and no new pod before the old one is
// gone, because the names of new pods depend on that.
func TestSimulateAgreesWithWhatHappens(t *testing.T) {
	t.Parallel()
	const (
		surge    = "podReplacementPolicy: TerminationComplete, updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
		takeDown = "podReplacementPolicy: TerminationComplete, updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"
		canary   = "podReplacementPolicy: TerminationComplete, updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0, partition: 2}}"
		inPlace  = "updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1, podUpdatePolicy: InPlaceIfPossible}}"
		gently   = "updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1, podUpdatePolicy: InPlaceIfPossible, inPlaceGracePeriodSeconds: 1}}"
		onebyone = "scaleDown: {maxTerminating: 1}"
		goBack   = "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}"
		halt     = "failurePolicy: {onFailure: Halt, gracePeriodSeconds: 1}"
		missing  = "app:does-not-exist"
	)
	tests := map[string]agreement{
		"replaced with a surge pod":     {policy: surge, before: 3, after: 3, image: "app:2", reason: v1.ReasonAllAvailable, actions: 6, lowest: 3},
		"replaced one by one":           {policy: takeDown, before: 3, after: 3, image: "app:2", reason: v1.ReasonAllAvailable, actions: 6, lowest: 2},
		"in place":                      {policy: inPlace, before: 3, after: 3, image: "app:2", reason: v1.ReasonAllAvailable, actions: 3, lowest: 2},
		"in place, drained first":       {policy: gently, before: 2, after: 2, image: "app:2", reason: v1.ReasonAllAvailable, actions: 2, lowest: 1},
		"up to the partition":           {policy: canary, before: 4, after: 4, image: "app:2", reason: v1.ReasonPartition, actions: 4, lowest: 4},
		"halted":                        {policy: surge + ", " + halt, before: 3, after: 3, image: missing, fail: true, reason: v1.ReasonHalted, actions: 1, lowest: 3},
		"halted in place":               {policy: inPlace + ", " + halt, before: 3, after: 3, image: missing, fail: true, reason: v1.ReasonHalted, actions: 1, lowest: 2},
		"rolled back":                   {policy: surge + ", " + goBack, before: 3, after: 3, image: missing, fail: true, reason: v1.ReasonRolledBack, actions: 2, lowest: 3},
		"rolled back in place":          {policy: inPlace + ", " + goBack, before: 3, after: 3, image: missing, fail: true, reason: v1.ReasonRolledBack, actions: 2, lowest: 2},
		"rolled back, taken down first": {policy: takeDown + ", " + goBack, before: 3, after: 3, image: missing, fail: true, reason: v1.ReasonRolledBack, actions: 4, lowest: 2},
		"scaled down":                   {policy: onebyone, before: 4, after: 1, image: "app:1", reason: v1.ReasonAllAvailable, actions: 3, lowest: 1},
		"scaled down to zero":           {policy: onebyone, before: 2, after: 0, image: "app:1", reason: v1.ReasonScaledToZero, actions: 2, lowest: 0},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// agreement is a change that is simulated and then applied.
type agreement struct {
	// policy is the part of the spec that stays the same. before and after are the replicas.
	policy        string
	before, after int
	image         string
	// fail is set if the new image does not work.
	fail bool
	// reason is the final reason of Ready. actions is how many actions there must be, and lowest is the expected minimum of available pods. Otherwise a
	// test in which nothing happens would pass.
	reason          string
	actions, lowest int
}

func (a agreement) check(t *testing.T) {
	s := newSpace(t)
	policy := a.policy
	if !strings.Contains(policy, "failurePolicy") {
		policy += ", " + hasty
	}
	s.apply("web", fmt.Sprintf("{replicas: %d, %s, %s}", a.before, policy, templateOf("app:1")))
	s.rest("web", v1.ReasonAllAvailable)
	next := manifestOf("web", fmt.Sprintf("{replicas: %d, %s, %s}", a.after, policy, templateOf(a.image)))
	arguments := []string{"-f", "-", "--pods-ready-after", "2s"}
	if a.fail {
		arguments = append(arguments, "--fail", "every")
	}
	report := s.simulated(next, arguments...)

	watch := s.WatchPods()
	s.Apply(next)
	s.rest("web", a.reason)
	seen := witness(watch)
	compare(t, report, seen)
	if string(report.Outcome) != outcomes[a.reason] {
		t.Errorf("simulated: %s (%s), but the reason is %s", report.Outcome, report.Message, a.reason)
	}
	if len(seen.actions) != a.actions || seen.lowest != a.lowest {
		t.Errorf("the actions were %v, with at least %d pods available; want %d actions, and %d", seen.actions, seen.lowest, a.actions, a.lowest)
	}
	// From the final state, nothing more happens.
	if after := s.simulated("", "web"); len(actionsOf(after)) > 0 || after.Outcome != report.Outcome {
		t.Errorf("a simulation from the final state: %+v", after)
	}
}

// outcomes maps the reason in the status to the outcome of the simulation.
var outcomes = map[string]string{
	v1.ReasonAllAvailable: "Completed", v1.ReasonScaledToZero: "Completed", v1.ReasonPartition: "PartitionReached", v1.ReasonHalted: "Halted", v1.ReasonRolledBack: "RolledBack",
}

// compare compares a simulation with what was observed.
func compare(t *testing.T, report simulate.Report, seen testimony) {
	t.Helper()
	if want := actionsOf(report); !slices.Equal(want, seen.actions) {
		t.Errorf("simulated\n%s\nbut seen\n%s", strings.Join(want, "\n"), strings.Join(seen.actions, "\n"))
	}
	if report.Totals.LowestAvailable != seen.lowest || report.Totals.MostPods != seen.most {
		t.Errorf("simulated at least %d available and at most %d pods, seen %d and %d",
			report.Totals.LowestAvailable, report.Totals.MostPods, seen.lowest, seen.most)
	}
}

// actionsOf returns what a simulation does to pods.
func actionsOf(report simulate.Report) []string {
	var actions []string
	for _, step := range report.Steps {
		for _, event := range step.Events {
			if event.Action == simulate.Created || event.Action == simulate.Deleted || event.Action == simulate.Updated {
				actions = append(actions, event.Action+" "+event.Pod)
			}
		}
	}
	return actions
}

func manifestOf(name, spec string) string {
	return harness.Manifest(name, "labels: {team: a}", spec)
}

// simulated runs simulate, which must succeed, and returns its report.
func (s *space) simulated(input string, arguments ...string) simulate.Report {
	s.T.Helper()
	got := s.tryWith(input, append([]string{"simulate", "-o", "json"}, arguments...)...)
	var report simulate.Report
	if err := json.Unmarshal([]byte(got.out), &report); got.code != 0 || err != nil {
		s.T.Fatalf("simulate %v: %v, %v", arguments, got, err)
	}
	return report
}

// rest waits until a PodManager has come to rest with this reason, and the pods that it deleted are gone.
func (s *space) rest(name, reason string) {
	s.T.Helper()
	s.Await(name+" to rest because of "+reason, func() (any, bool) {
		manager := s.Manager(name)
		status := &manager.Status
		is, stalled := meta.FindStatusCondition(status.Conditions, v1.ConditionReady), meta.FindStatusCondition(status.Conditions, v1.ConditionStalled)
		isFinal := is != nil && is.Reason == reason && (is.Status == metav1.ConditionTrue || stalled != nil && stalled.Reason == reason)
		if status.ObservedGeneration != manager.Generation || !isFinal || status.TerminatingReplicas > 0 {
			return status, false
		}
		if reason == v1.ReasonRolledBack { // surge pods are deleted last
			return status, status.Replicas == *manager.Spec.Replicas && status.AvailableReplicas == status.Replicas
		}
		return status, true
	})
}

// simulate reads a file as kubectl apply does: it keeps fields that other clients set, removes fields that were in the last applied file and are not
// in this one, and refuses what the API server refuses.
func TestSimulateReadsFilesAsApplyDoes(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{image: 'app:1', "+hasty+"}")
	s.pm("scale", "web", "--replicas", "2")
	s.rest("web", v1.ReasonAllAvailable)
	before := s.Manager("web")
	if report := s.simulated(manifestOf("web", "{image: 'app:2', "+hasty+"}"), "-f", "-"); report.Replicas != 2 || report.Totals.Created != 2 {
		t.Errorf("replicas that another client has set: %+v", report)
	}
	full := "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: web}\n---\n" + manifestOf("web", "{template: {spec: {containers: [{name: app, image: 'app:1', ports: [{containerPort: 80}]}]}}, "+hasty+"}")
	report := s.simulated(full, "-f", "-")
	if len(report.Change.Fields) != 1 || report.Change.How != "new pod" || report.Outcome != simulate.Completed {
		t.Errorf("the full form: %+v", report.Change)
	}
	if got := s.tryWith(full, "simulate", "-f", "-", "web", "--never-ready", "every", "2"); got.code != 0 || !strings.Contains(got.out, "every 2nd new pod is never ready") {
		t.Errorf("every 2: %v", got)
	}
	if report := s.simulated("", "web", "--image", "app=app:3", "--replicas", "3"); report.Replicas != 3 || report.ReplicasBefore != 2 || report.Totals.Deleted != 3 {
		t.Errorf("by flags: %+v", report)
	}
	s.refused(1, "say what to simulate", "simulate")
	s.refused(1, "there is no PodManager nope", "simulate", "nope")
	if after := s.Manager("web"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("something was written: %+v", after)
	}
}

// A manifest that the API server would refuse is refused with the API server's reason.
func TestSimulateRefusesWhatApplyRefuses(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{image: 'app:1', "+hasty+"}")
	both := manifestOf("web", "{image: 'app:1', updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}")
	for manifest, want := range map[string][]string{
		both: {"kubectl apply would fail", "must not both be 0"},
		strings.ReplaceAll(both, "image:", "imag:"): {"imag"},
	} {
		got := s.tryWith(manifest, "simulate", "-f", "-")
		if got.code != 1 {
			t.Errorf("exit code %d for\n%s", got.code, manifest)
		}
		for _, part := range want {
			if !strings.Contains(got.err, part) {
				t.Errorf("got %q, want %q for\n%s", got.err, part, manifest)
			}
		}
	}
}

// Flux uses server-side apply, so there is no last applied file. Fields that Flux owns and no longer sets are removed nevertheless.
func TestSimulateOfWhatFluxOwns(t *testing.T) {
	s := newSpace(t)
	manifest := `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web"},"spec":{"replicas":1,"image":"app:1"}}`
	_, err := shared.cluster.Managers.AppsV1().PodManagers(s.Name).Patch(t.Context(), "web", types.ApplyPatchType, []byte(manifest),
		metav1.PatchOptions{FieldManager: "kustomize-controller"})
	if err != nil {
		t.Fatal(err)
	}
	s.Await("a pod", func() (any, bool) {
		manager := s.Manager("web")
		return manager.Status, manager.Status.AvailableReplicas == 1
	})
	report := s.simulated(manifestOf("web", "{"+templateOf("app:2")+"}"), "-f", "-")
	if report.Replicas != 3 || report.Outcome != simulate.Completed {
		t.Errorf("got %+v", report)
	}
}

// For a name that does not exist yet, a first rollout is simulated, and nothing is created.
func TestSimulateFirstRollout(t *testing.T) {
	s := newSpace(t)
	got := s.tryWith(manifestOf("new", "{replicas: 2, image: 'app:1'}"), "simulate", "-f", "-")
	if got.code != 0 || got.err != "" {
		t.Fatalf("got %v", got)
	}
	s.golden("a first rollout", strings.Split(got.out, "revision")[0], `
new, which does not exist yet, in namespace NAMESPACE, simulated: nothing is written
Change: a first rollout of 2 pods
Assumed: containers are ready AGE after their start, and stop within AGE

TIME OLD NEW AVAILABLE WHAT HAPPENS
now 0 0 0 as it is now
AGE 0 2 0 new-0 and new-1 created
AGE 0 2 2 new-0 and new-1 available
43.AGE 0 2 2`)
	s.refused(1, "there is no PodManager new", "get", "new")
}
