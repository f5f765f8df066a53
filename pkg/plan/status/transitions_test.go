package status_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

// at returns a status with these revisions and this reason of Ready. Its message is "why".
func at(update, current, ready string, change ...func(*v1.PodManagerStatus)) *v1.PodManagerStatus {
	status := &v1.PodManagerStatus{
		UpdateRevision: update, CurrentRevision: current, Image: "v2", AvailableReplicas: 3,
		Conditions: []metav1.Condition{{Type: v1.ConditionReady, Reason: ready, Message: "why"}},
	}
	for _, c := range change {
		c(status)
	}
	return status
}

func stalledBy(reason string) func(*v1.PodManagerStatus) {
	return func(s *v1.PodManagerStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: v1.ConditionStalled, Reason: reason, Message: "stuck"})
	}
}

func TestTransitions(t *testing.T) {
	failed := func(s *v1.PodManagerStatus) { s.FailedRevision = "two" }
	rolling := v1.ReasonRollingOut
	next := func(s *v1.PodManagerStatus) { s.ObservedGeneration++ }
	recorded := func(s *v1.PodManagerStatus) { s.Rollout = &v1.RolloutStatus{Revision: s.UpdateRevision} }
	exceeded := func(s *v1.PodManagerStatus) {
		s.Rollout = &v1.RolloutStatus{Revision: s.UpdateRevision, SpentSeconds: 600}
	}
	goingBack := func(s *v1.PodManagerStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: v1.ConditionProgressing, Reason: v1.ReasonRolledBack, Message: "broken"})
	}
	tests := map[string]struct {
		manager  *v1.PodManager
		old, now *v1.PodManagerStatus
		want     []string
	}{
		"nothing":           {old: at("two", "one", rolling), now: at("two", "one", rolling)},
		"the first rollout": {old: &v1.PodManagerStatus{}, now: at("one", "", v1.ReasonTooFew)},
		"the second, before the first is complete": {
			old: at("one", "", v1.ReasonTooFew), now: at("two", "", v1.ReasonTooFew),
			want: []string{"Normal RolloutStarted Rolling out revision two, image v2"},
		},
		"a new template": {
			old: at("one", "one", v1.ReasonAllAvailable), now: at("two", "one", rolling),
			want: []string{"Normal RolloutStarted Rolling out revision two, image v2"},
		},
		"a new template with a change cause": {
			manager: Manager(3, Because("CVE-1")),
			old:     at("one", "one", v1.ReasonAllAvailable), now: at("two", "one", rolling),
			want: []string{"Normal RolloutStarted Rolling out revision two, image v2: CVE-1"},
		},
		"the old template put back, with pods to replace": {
			old: at("two", "one", rolling, recorded), now: at("one", "one", rolling),
			want: []string{"Normal RolloutStarted Returning to revision one, image v2"},
		},
		"complete": {
			old: at("two", "one", rolling, recorded), now: at("two", "one", v1.ReasonBaking, recorded),
			want: []string{"Normal RolloutCompleted Revision two is rolled out: 3 pods available, and the bake time begins"},
		},
		"complete, and current at once": {
			old: at("two", "one", rolling, recorded), now: at("two", "two", v1.ReasonAllAvailable),
			want: []string{"Normal RolloutCompleted Revision two is rolled out: 3 pods available"},
		},
		"current after a while: the event was emitted before": {old: at("two", "one", v1.ReasonBaking, recorded), now: at("two", "two", v1.ReasonAllAvailable)},
		"the first rollout completes without an event": {
			manager: Manager(3, func(m *v1.PodManager) { m.Generation = 1 }),
			old:     at("one", "", v1.ReasonTooFew, recorded), now: at("one", "", v1.ReasonAllAvailable),
		},
		"a lost pod comes back without an event": {old: at("one", "one", v1.ReasonTooFew, recorded), now: at("one", "one", v1.ReasonAllAvailable)},
		"OnDelete, and the last pod was updated": {
			manager: Manager(3, Strategy(v1.OnDeleteStrategy)),
			old:     at("two", "one", v1.ReasonUpdateOnDelete, recorded), now: at("two", "two", v1.ReasonAllAvailable),
			want: []string{"Normal RolloutCompleted Revision two is rolled out: 3 pods available"},
		},
		"started while paused": {
			old: at("one", "one", v1.ReasonAllAvailable), now: at("two", "one", v1.ReasonPaused, next),
			want: []string{"Normal RolloutStarted Rolling out revision two, image v2", "Normal RolloutPaused Paused the rollout of revision two"},
		},
		"paused": {
			old: at("two", "one", rolling), now: at("two", "one", v1.ReasonPaused, next),
			want: []string{"Normal RolloutPaused Paused the rollout of revision two"},
		},
		"resumed": {
			old: at("two", "one", v1.ReasonPaused), now: at("two", "one", rolling),
			want: []string{"Normal RolloutResumed Resumed the rollout of revision two"},
		},
		"paused, and a request is refused": {
			manager: Manager(3, func(m *v1.PodManager) { m.Spec.Paused = true }),
			old:     at("two", "one", v1.ReasonPaused), now: at("two", "one", v1.ReasonForbidden),
		},
		"paused, and the refused request succeeds: the event was emitted before": {
			manager: Manager(3, func(m *v1.PodManager) { m.Spec.Paused = true }),
			old:     at("two", "one", v1.ReasonForbidden), now: at("two", "one", v1.ReasonPaused),
		},
		"still paused": {old: at("two", "one", v1.ReasonPaused), now: at("two", "one", v1.ReasonPaused)},
		"the partition is reached": {
			old: at("two", "one", rolling), now: at("two", "one", v1.ReasonPartition),
			want: []string{"Normal PartitionReached The partition is reached: why"},
		},
		"halted": {
			old: at("two", "one", rolling), now: at("two", "one", v1.ReasonHalted),
			want: []string{"Warning RolloutHalted No further pod is updated: why"},
		},
		"halted with all pods updated": {
			old: at("two", "one", rolling), now: at("two", "one", v1.ReasonHalted, func(s *v1.PodManagerStatus) { s.UpdatedReplicas = 3 }),
			want: []string{"Warning RolloutHalted The new revision fails: why"},
		},
		"still halted": {old: at("two", "one", v1.ReasonHalted), now: at("two", "one", v1.ReasonHalted, stalledBy(v1.ReasonHalted))},
		"impossible in place": {
			old: at("two", "one", rolling), now: at("two", "one", v1.ReasonNotInPlace),
			want: []string{"Warning InPlaceImpossible why"},
		},
		"the deadline passes": {
			old: at("two", "one", rolling), now: at("two", "one", rolling, exceeded, stalledBy(v1.ReasonDeadline)),
			want: []string{"Warning ProgressDeadlineExceeded stuck"},
		},
		"the deadline has passed before":                     {old: at("two", "one", rolling, exceeded, stalledBy(v1.ReasonDeadline)), now: at("two", "one", rolling, exceeded, stalledBy(v1.ReasonDeadline))},
		"the deadline has passed before, but Stalled is new": {old: at("two", "one", rolling, exceeded), now: at("two", "one", rolling, exceeded, stalledBy(v1.ReasonDeadline))},
		"rolled back": {
			old: at("two", "one", v1.ReasonHalted), now: at("two", "one", v1.ReasonRolledBack, failed, goingBack),
			want: []string{"Warning RolledBack Rolling back: broken"},
		},
		"rolled back, and a request is refused": {
			old: at("two", "one", v1.ReasonHalted), now: at("two", "one", v1.ReasonForbidden, failed, func(s *v1.PodManagerStatus) {
				s.Conditions = append(s.Conditions, metav1.Condition{Type: v1.ConditionProgressing, Reason: v1.ReasonForbidden, Message: "refused"})
			}),
			want: []string{"Warning RolledBack Rolling back: revision two has failed"},
		},
		"still rolled back": {
			old: at("two", "one", v1.ReasonRolledBack, failed, stalledBy(v1.ReasonRolledBack)),
			now: at("two", "one", v1.ReasonRolledBack, failed, stalledBy(v1.ReasonRolledBack)),
		},
		"the failed revision is dropped": {old: at("two", "one", v1.ReasonRolledBack, failed), now: at("one", "one", v1.ReasonAllAvailable)},
		"without a message the event has the reason": {
			old: at("two", "one", rolling), now: at("two", "one", v1.ReasonHalted, func(s *v1.PodManagerStatus) { s.Conditions[0].Message = "" }),
			want: []string{"Warning RolloutHalted No further pod is updated: RolloutHalted"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.manager == nil {
				test.manager = Manager(3)
			}
			var got []string
			for _, step := range Transitions(test.manager, test.old, test.now) {
				got = append(got, step.Type+" "+step.Reason+" "+step.Message)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
