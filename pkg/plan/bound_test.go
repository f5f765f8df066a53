package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// If a plan fits into one sync, it does not request another sync at once.
func TestBound(t *testing.T) {
	for replicas, want := range map[int32]struct {
		count int
		again bool
	}{MaxPerSync - 1: {MaxPerSync - 1, false}, MaxPerSync: {MaxPerSync, false}, MaxPerSync + 1: {MaxPerSync, true}} {
		var pods []*corev1.Pod
		for i := range int(replicas) {
			pods = append(pods, Pod(i))
		}
		plans := map[string]Plan{
			"created": Make(Observe(Manager(replicas))),
			"deleted": Make(Observe(Manager(0), pods...)),
			"updated": Make(RollingOut(Next(replicas, InPlace(v1.InPlaceIfPossible, 0), Limits("0", "100%")), pods...)),
		}
		for what, plan := range plans {
			count := len(plan.Create) + len(plan.Delete) + len(plan.Update)
			if got := plan.Again.Why == requeue.RequeueMore; count != want.count || got != want.again {
				t.Errorf("of %d pods, %d are %s; another sync at once: %v", replicas, count, what, got)
			}
		}
	}
}

// If one sync cannot delete all pods of a large scale-down, it neither creates nor updates pods: there are still more than replicas + maxSurge, and
// pods that are to be deleted may be unavailable. Pods that have finished do not count.
func TestBoundOfDeletesComesFirst(t *testing.T) {
	var active, finished []*corev1.Pod
	for i := range MaxPerSync + 50 {
		active, finished = append(active, Pod(i)), append(finished, FailedPod(i, time.Hour, 0, V2))
	}
	possible := InPlace(v1.InPlaceIfPossible, 0)
	for name, test := range map[string]struct {
		policy    func(*v1.PodManager)
		pods      []*corev1.Pod
		continues bool
	}{
		"active":                {pods: active},
		"some active":           {pods: active[:MaxPerSync], continues: true},
		"finished":              {pods: finished, continues: true},
		"active, in place":      {policy: possible, pods: active},
		"some active, in place": {policy: possible, pods: active[:MaxPerSync], continues: true},
	} {
		m := Next(4, Limits("1", "2"))
		if test.policy != nil {
			test.policy(m)
		}
		plan := Make(RollingOut(m, test.pods...))
		if got := len(plan.Create)+len(plan.Update) > 0; got != test.continues {
			t.Errorf("%s: deletes %d, creates %d and updates %d pods", name, len(plan.Delete), len(plan.Create), len(plan.Update))
		}
	}
}

// If refused requests are in backoff, the next sync is due when the backoff is over, not at once, even if one sync could not send all of them.
func TestBoundOfWhatIsHeldBack(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 2 * MaxPerSync {
		pods = append(pods, Pod(i))
	}
	holds := map[string]struct {
		key      requeue.BackoffKey
		observed Observed
	}{
		"deletes":      {requeue.BackoffDelete, Observe(Manager(0), pods...)},
		"last deletes": {requeue.BackoffDelete, Observe(Manager(0, Deleting, MaxTerminating("600"), func(m *v1.PodManager) { m.Finalizers = []string{v1.Finalizer} }), pods...)},
		"store":        {requeue.BackoffStore, With(Observe(Manager(2*MaxPerSync)), func(o *Observed) { o.Revisions = nil })},
	}
	for name, test := range holds {
		until := Now.Add(time.Minute)
		test.observed.Backoffs = map[requeue.BackoffKey]requeue.Backoff{test.key: {Until: until, Failure: requeue.Failure{Reason: v1.ReasonForbidden}}}
		if decided := Make(test.observed); decided.Again.At != until || len(decided.Create)+len(decided.Delete) > 0 {
			t.Errorf("%s: creates %d, deletes %d, again at %v (%s), want nothing until %v", name, len(decided.Create), len(decided.Delete), decided.Again.At,
				decided.Again.Why, until)
		}
	}
}

// A pod counts as too old exactly at the time that Found.Again has announced.
func TestOldestOnTime(t *testing.T) {
	m := Manager(2, func(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](3600)} })
	pods := []*corev1.Pod{Pod(0, CreatedAgo(0)), Pod(1, CreatedAgo(time.Minute))}
	renew := func(now time.Time) leaving.Found {
		found := leaving.Find(m, nil, pods, now)
		found.Renew(m, 0, func(*corev1.Pod) bool { return false }, now)
		return found
	}
	wait := renew(Now).Again
	if wait < 50*time.Minute || wait > time.Hour {
		t.Fatalf("the next pod is too old in %v", wait)
	}
	if found := renew(Now.Add(wait - time.Second)); len(found.Leave) > 0 || found.Again != time.Second {
		t.Errorf("a second before a pod is too old: %v leave, the next pod is too old in %v", found.Leave, found.Again)
	}
	if found := renew(Now.Add(wait)); len(found.Leave) != 1 {
		t.Errorf("when a pod is too old: %d leave, want 1", len(found.Leave))
	}
}

// The event of a deletion has its reason: pods of a revision that was rolled back are not called surplus or outdated.
func TestWhyDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		observed Observed
		want     rollout.Why
	}{
		"rolled back":   {RollingOut(Next(3, Limits("0", "1"), Rollback, FailedNow), Pod(0), Pod(1), Pod(2, V2)), rollout.WhyRolledBack},
		"rolled out":    {RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1), Pod(2)), rollout.WhyOutdated},
		"moved back":    {RollingOut(Next(3, Limits("0", "1"), Partition("3")), Pod(0), Pod(1), Pod(2, V2)), rollout.WhyMovedBack},
		"scaled down":   {RollingOut(Next(2, Limits("0", "1"), Partition("2")), Pod(0), Pod(1), Pod(2)), rollout.WhySurplus},
		"none is wrong": {RollingOut(Next(3, Limits("0", "1")), Pod(0, V2), Pod(1, V2), Pod(2, V2), Pod(3, V2)), rollout.WhySurplus},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if len(plan.Delete) != 1 || plan.Delete[0].Why != test.want {
				t.Errorf("deleted %+v, want one pod, because: %s", plan.Delete, test.want)
			}
		})
	}
}

// With maxUnavailable 0, a pod that is marked for deletion is deleted after its replacement is available. During a rollout, a partition decides which
// revision the replacement has.
func TestMarkedIsReplacedFirst(t *testing.T) {
	lost := func(o *Observed) { o.Revisions = o.Revisions[1:] }
	for name, test := range map[string]struct {
		observed Observed
		want     string
	}{
		"of the new side, beside a partition": {
			RollingOut(Next(3, Limits("1", "0"), Partition("1")), Pod(0), Pod(1, V2, Marked), Pod(2, V2)), "+3 new",
		},
		"of the old side": {RollingOut(Next(3, Limits("1", "0"), Partition("1")), Pod(0, Marked), Pod(1, V2), Pod(2, V2)), "+3 old"},
		"two, and room for one": {
			RollingOut(Next(3, Limits("1", "0")), Pod(0, V2, Marked), Pod(1, V2, Marked), Pod(2, V2)), "+3 new",
		},
		"beside a missing pod":              {RollingOut(Next(3, Limits("1", "0")), Pod(0, V2, Marked), Pod(1, V2)), "+2 new, +3 new"},
		"two beside a missing pod":          {RollingOut(Next(3, Limits("1", "0")), Pod(0, V2, Marked), Pod(1, V2, Marked)), "+2 new, +3 new"},
		"two old ones beside a missing pod": {RollingOut(Next(3, Limits("1", "0"), Partition("100%")), Pod(0, Marked), Pod(1, Marked)), "+2 old, +3 old"},
		"a surge pod of the rollout":        {RollingOut(Next(3, Limits("2", "0")), Pod(0, V2), Pod(1, V2), Pod(2, Marked)), "+3 new"},
		"a surge pod of the rollback":       {RollingOut(Next(3, Limits("2", "0"), OnFailure(v1.RollbackOnFailure), FailedNow), Pod(0), Pod(1), Pod(2, V2, Marked)), "+3 old"},
		"one of each side, room for one":    {RollingOut(Next(3, Limits("1", "0"), Partition("1")), Pod(0, Marked), Pod(1, V2, Marked), Pod(2, V2)), "+3 old"},
		"another pod is terminating":        {RollingOut(Next(2, Limits("1", "0"), TerminationComplete), Pod(0, V2, Marked), Pod(1, V2), Pod(2, V2, Terminating)), ""},
		"its replacement is there":          {RollingOut(Next(3, Limits("1", "0")), Pod(0, V2, Marked), Pod(1, V2), Pod(2, V2), Pod(3, V2, NotReady)), ""},
		"two, and the replacement of one":   {RollingOut(Next(3, Limits("2", "0")), Pod(0, V2, Marked), Pod(1, V2, Marked), Pod(2, V2), Pod(3, V2, NotReady)), "+4 new"},
		"its replacement is available":      {RollingOut(Next(3, Limits("1", "0")), Pod(0, V2, Marked), Pod(1, V2), Pod(2, V2), Pod(3, V2)), "-0"},
		"a marked pod that is not ready":    {RollingOut(Next(3, Limits("1", "0")), Pod(0, V2, Marked, NotReady), Pod(1, V2), Pod(2, V2)), "+3 new, -0"},
		"of the old side, whose revision is lost, and its replacement fails": {
			With(RollingOut(Next(3, Limits("1", "0"), Partition("100%")), Pod(0), Pod(1, Marked), Pod(2, V2, Crashing), Pod(3, V2, Crashing)), lost), "",
		},
		"maxUnavailable allows it directly": {RollingOut(Next(3, Limits("1", "1")), Pod(0, V2, Marked), Pod(1, V2), Pod(2, V2)), "+3 new, -0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(Make(test.observed)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
