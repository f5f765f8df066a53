package plan_test

import (
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// want is a plan with indices and names instead of objects.
type want struct {
	create       []int
	failures     []int // before each created pod; nil if there are none
	remove       []string
	why          rollout.Why
	adopt        []string
	release      []string
	foreign      []string
	addFinalizer bool
	// removeFinalizer ends the deletion of the PodManager.
	removeFinalizer bool
	update          []string // the names of pods that are updated in place
	blocked         bool
	again           time.Duration
}

func TestMake(t *testing.T) {
	tests := map[string]struct {
		observed Observed
		want     want
	}{
		"a new PodManager gets all its pods": {
			observed: Observe(Manager(3)),
			want:     want{create: []int{0, 1, 2}},
		},
		"maxTerminating needs a finalizer": {
			observed: Observe(Manager(3, MaxTerminating("1"))),
			want:     want{addFinalizer: true, create: []int{0, 1, 2}},
		},
		"readiness gates need a finalizer": {
			observed: Observe(Manager(0, draining(30))),
			want:     want{addFinalizer: true},
		},
		"a finalizer that is no longer needed is removed": {
			observed: Observe(Manager(0, finalizing)),
			want:     want{removeFinalizer: true},
		},
		"names of pods that are not watched are skipped": {
			observed: With(Observe(Manager(2)), func(o *Observed) { o.Taken = map[string]bool{"web-0": true, "web-2": false} }),
			want:     want{create: []int{1, 3}, foreign: []string{"web-0"}},
		},
		"a refused delete in backoff: neither repeated, nor is the pod replaced": {
			observed: With(Observe(Manager(2), Pod(0, Annotated(v1.AnnotationDelete, "true"), NotReady), Pod(1)), heldOn(requeue.BackoffDelete)),
			want:     want{blocked: true, again: time.Minute},
		},
		"a refused delete in backoff: missing pods are created": {
			observed: With(Observe(Manager(2), Pod(0)), heldOn(requeue.BackoffDelete)),
			want:     want{create: []int{1}},
		},
		"a refused adoption in backoff blocks nothing else": {
			observed: With(Observe(Manager(3), Pod(0)), heldOn(requeue.BackoffAdopt), func(o *Observed) { o.Orphans = []*corev1.Pod{Pod(1, Orphaned)} }),
			want:     want{create: []int{2, 3}, blocked: true, again: time.Minute},
		},
		"a refused finalizer in backoff blocks nothing else": {
			observed: With(Observe(Manager(1, MaxTerminating("1"))), heldOn(requeue.BackoffFinalizer)),
			want:     want{create: []int{0}, blocked: true, again: time.Minute},
		},
		"a pod whose release is refused is not replaced": {
			observed: With(Observe(Manager(3), Pod(0), Pod(1, Labelled(v1.LabelManager, "debug"))), heldOn(requeue.BackoffRelease)),
			want:     want{create: []int{2}, blocked: true, again: time.Minute},
		},
		"a refused revision in backoff blocks the pods of this revision": {
			observed: With(Observe(Manager(3), Pod(0, Labelled(v1.LabelRevision, "old"))), heldOn(requeue.BackoffStore), func(o *Observed) { o.Revisions = nil }),
			want:     want{blocked: true, again: time.Minute},
		},
		"replicas left out means three": {
			observed: Observe(Manager(0, func(m *v1.PodManager) { m.Spec.Replicas = nil })),
			want:     want{create: []int{0, 1, 2}},
		},
		"nothing to do once all pods exist": {
			observed: Observe(Manager(3), Pods3()...),
		},
		"pods that are not ready count": {
			observed: Observe(Manager(3), Pod(0, NotReady), Pod(1, Phase(corev1.PodPending)), Pod(2, Phase(corev1.PodUnknown))),
		},
		"a missing pod is replaced under its own index": {
			observed: Observe(Manager(3), Pod(0), Pod(2)),
			want:     want{create: []int{1}},
		},
		"the index of a pod that is terminating is in use": {
			observed: Observe(Manager(3), Pod(0), Pod(1, Terminating), Pod(2)),
			want:     want{create: []int{3}},
		},
		"a failed pod is replaced at once, and kept": {
			observed: Observe(Manager(3), Pod(0), FailedPod(1, time.Second, 0), Pod(2)),
			want:     want{create: []int{3}, failures: []int{1}},
		},
		"only the newest failed pod is kept": {
			observed: Observe(Manager(1), Pod(0), FailedPod(1, time.Hour, 0), FailedPod(2, time.Minute, 0), FailedPod(3, 2*time.Minute, 0)),
			want:     want{remove: []string{"web-1", "web-3"}, why: rollout.WhyFinished},
		},
		"failedPodsHistoryLimit 0 keeps no failed pod": {
			observed: Observe(Manager(1, failedPodsKept(0)), Pod(0, Replacing("web-1")), FailedPod(1, time.Hour, 0)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyFinished},
		},
		"a pod that has succeeded is replaced, too": {
			observed: Observe(Manager(1, failedPodsKept(0)), Pod(0, Phase(corev1.PodSucceeded))),
			want:     want{create: []int{1}, failures: []int{1}},
		},
		"a name that a pod of another owner has is skipped": {
			observed: With(Observe(Manager(3), Pod(0)), taken("web-1", "web-3")),
			want:     want{create: []int{2, 4}, foreign: []string{"web-1", "web-3"}},
		},
		"a foreign name is reported for as long as it is skipped": {
			observed: With(Observe(Manager(2), Pod(0), Pod(2)), taken("web-1", "web-3")),
			want:     want{foreign: []string{"web-1"}},
		},
		"a pod of ours that the list misses keeps its index": {
			observed: With(Observe(Manager(2), Pod(1)), func(o *Observed) {
				o.PodNamed = func(name string) *corev1.Pod {
					if name == "web-0" {
						return Pod(0)
					}
					return nil
				}
			}),
			want: want{create: []int{0}},
		},
		"a released pod is not reported as foreign": {
			observed: With(Observe(Manager(1), Pod(1)), func(o *Observed) {
				ours := o.PodNamed
				o.PodNamed = func(name string) *corev1.Pod {
					if name == "web-0" {
						return Pod(0, Labelled(v1.LabelManager, "debug"), Orphaned)
					}
					return ours(name)
				}
			}),
		},
		"a name that a terminating pod of another owner has is skipped and not reported": {
			observed: With(Observe(Manager(1)), func(o *Observed) {
				o.PodNamed = func(name string) *corev1.Pod {
					if name == "web-0" {
						return Pod(0, Terminating, Orphaned)
					}
					return nil
				}
			}),
			want: want{create: []int{1}},
		},
		"scaling down deletes the least useful": {
			observed: Observe(Manager(1), Pod(0), Pod(1, NotReady), Pod(2, Phase(corev1.PodPending), OnNode(""))),
			want:     want{remove: []string{"web-1", "web-2"}, why: rollout.WhySurplus},
		},
		"scaling to zero deletes all pods that are not terminating": {
			observed: Observe(Manager(0), Pod(0), Pod(1, Terminating), Pod(2)),
			want:     want{remove: []string{"web-0", "web-2"}, why: rollout.WhySurplus},
		},
		"a relabelled pod is released and replaced": {
			observed: Observe(Manager(3), Pod(0), Pod(1, Labelled(v1.LabelManager, "debug")), Pod(2)),
			want:     want{release: []string{"web-1"}, create: []int{3}},
		},
		"a relabelled pod that is terminating is not released": {
			observed: Observe(Manager(2), Pod(0), Pod(1, Labelled(v1.LabelManager, "debug"), Terminating), Pod(2)),
		},
		"an orphan is adopted instead of creating a pod": {
			observed: With(Observe(Manager(3), Pod(0), Pod(1)), func(o *Observed) { o.Orphans = []*corev1.Pod{Pod(7, Orphaned)} }),
			want:     want{adopt: []string{"web-7"}},
		},
		"too many orphans: adopted, and the surplus is deleted": {
			observed: With(Observe(Manager(1), Pod(0)), func(o *Observed) { o.Orphans = []*corev1.Pod{Pod(7, Orphaned, NotReady)} }),
			want:     want{adopt: []string{"web-7"}, remove: []string{"web-7"}, why: rollout.WhySurplus},
		},
		"terminating and finished orphans are not adopted": {
			observed: With(Observe(Manager(1), Pod(0)), func(o *Observed) {
				o.Orphans = []*corev1.Pod{Pod(7, Orphaned, Terminating), Pod(8, Orphaned, Phase(corev1.PodFailed))}
			}),
		},
		"a refused create is not repeated during its backoff": {
			observed: With(Observe(Manager(3), Pod(0)), InBackoff(Now.Add(time.Minute))),
			want:     want{blocked: true, again: time.Minute},
		},
		"a refused create is repeated after its backoff": {
			observed: With(Observe(Manager(2), Pod(0)), InBackoff(Now)),
			want:     want{create: []int{1}},
		},
		"a backoff does not matter when nothing is missing": {
			observed: With(Observe(Manager(1), Pod(0)), InBackoff(Now.Add(time.Minute))),
		},
		"on deletion the pods go first": {
			observed: Observe(Manager(3, Deleting, MaxTerminating("2"), finalizing), Pod(0), Pod(1, Terminating), Pod(2, Phase(corev1.PodFailed))),
			want:     want{remove: []string{"web-0", "web-2"}, why: rollout.WhyFinalize},
		},
		"on deletion a pod that is terminating is waited for": {
			observed: Observe(Manager(3, Deleting, MaxTerminating("2"), finalizing), Pod(0, Terminating)),
		},
		"on deletion the finalizer is removed once the pods are gone": {
			observed: Observe(Manager(3, Deleting, MaxTerminating("2"), finalizing)),
			want:     want{removeFinalizer: true},
		},
		"on deletion without maxTerminating the garbage collector deletes the pods": {
			observed: Observe(Manager(3, Deleting, finalizing), Pods3()...),
			want:     want{removeFinalizer: true},
		},
		"on deletion without our finalizer nothing is done": {
			observed: Observe(Manager(3, Deleting, func(m *v1.PodManager) { m.Finalizers = []string{"other"} }), Pod(0)),
		},
		"orphaning leaves the pods to the garbage collector": {
			observed: Observe(Manager(3, Deleting, MaxTerminating("1"), finalizing, orphaning), Pods3()...),
			want:     want{removeFinalizer: true},
		},
		"orphaning opens closed readiness gates first": {
			observed: Observe(Manager(3, Deleting, draining(30), finalizing, orphaning), Pod(0), Pod(1, Closed)),
			want:     want{update: []string{"web-1"}},
		},
		"orphaning opens closed readiness gates of pods that are orphans already": {
			observed: With(Observe(Manager(3, Deleting, draining(30), finalizing, orphaning)), func(o *Observed) { o.Orphans = []*corev1.Pod{Pod(1, Orphaned, Closed)} }),
			want:     want{update: []string{"web-1"}},
		},
		"closed readiness gates of orphans are opened, too, if the garbage collector is done": {
			observed: With(Observe(Manager(3, Deleting, draining(30), finalizing)), func(o *Observed) { o.Orphans = []*corev1.Pod{Pod(1, Orphaned, Closed)} }),
			want:     want{update: []string{"web-1"}},
		},
		"a deleted PodManager adopts nothing": {
			observed: With(Observe(Manager(3, Deleting, finalizing, orphaning)), func(o *Observed) { o.Orphans = []*corev1.Pod{Pod(0, Orphaned)} }),
			want:     want{removeFinalizer: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, Make(test.observed), test.want)
		})
	}
}

// finalizing adds our finalizer.
func finalizing(m *v1.PodManager) { m.Finalizers = append(m.Finalizers, v1.Finalizer) }

// draining enables updates in place with a grace period, during which pods are out of their Services.
func draining(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{PodUpdatePolicy: v1.InPlaceIfPossible, InPlaceGracePeriodSeconds: seconds}
	}
}

// heldOn puts requests of a kind into backoff for a minute.
func heldOn(key requeue.BackoffKey) func(*Observed) {
	return func(o *Observed) {
		o.Backoffs = map[requeue.BackoffKey]requeue.Backoff{key: {Until: Now.Add(time.Minute), Failure: requeue.Failure{Reason: v1.ReasonForbidden}}}
	}
}

func failedPodsKept(limit int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailedPodsHistoryLimit = &limit }
}

// taken assigns names to pods of other owners.
func taken(names ...string) func(*Observed) {
	return func(o *Observed) {
		ours := o.PodNamed
		o.PodNamed = func(name string) *corev1.Pod {
			if slices.Contains(names, name) {
				return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
			}
			return ours(name)
		}
	}
}

func orphaning(m *v1.PodManager) {
	m.Finalizers = append(m.Finalizers, metav1.FinalizerOrphanDependents)
}

func check(t *testing.T, got Plan, want want) {
	t.Helper()
	var removed []string
	for _, deletion := range got.Delete {
		removed = append(removed, deletion.Pod.Name)
		if deletion.Why != want.why {
			t.Errorf("%s deleted because %q, want %q", deletion.Pod.Name, deletion.Why, want.why)
		}
	}
	slices.Sort(removed)
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	same("deletes", removed, want.remove)
	same("adopts", Names(got.Adopt), want.adopt)
	same("releases", Names(got.Release), want.release)
	same("reports foreign pods", got.Foreign, want.foreign)
	var indices, failures []int
	for _, creation := range got.Create {
		indices = append(indices, creation.Index)
		failures = append(failures, creation.FailuresBefore)
	}
	if want.failures == nil {
		want.failures = make([]int, len(want.create))
	}
	if !slices.Equal(indices, want.create) || !slices.Equal(failures, want.failures) {
		t.Errorf("creates %v after %v failures, want %v after %v", indices, failures, want.create, want.failures)
	}
	var updated []string
	for _, update := range got.Update {
		updated = append(updated, update.Pod.Name)
	}
	same("updates", updated, want.update)
	if got.AddFinalizer != want.addFinalizer || got.RemoveFinalizer != want.removeFinalizer {
		t.Errorf("addFinalizer %v removeFinalizer %v, want %v and %v", got.AddFinalizer, got.RemoveFinalizer, want.addFinalizer, want.removeFinalizer)
	}
	if (got.Blocked != nil) != want.blocked || Until(got.Again) != want.again {
		t.Errorf("blocked %v again %v, want %v and %v", got.Blocked, got.Again, want.blocked, want.again)
	}
}

func TestMakeIsBounded(t *testing.T) {
	var many []*corev1.Pod
	for i := range 2000 {
		many = append(many, Pod(i))
	}
	for name, test := range map[string]struct {
		observed Observed
		more     bool
	}{
		"many to create":               {Observe(Manager(2000)), true},
		"exactly MaxPerSync to create": {Observe(Manager(MaxPerSync)), false},
		"the highest replicas":         {Observe(Manager(math.MaxInt32)), true},
		"many to delete":               {Observe(Manager(0), many...), true},
		"many to delete on deletion":   {Observe(Manager(0, Deleting, finalizing, MaxTerminating("2000")), many...), true},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if got := len(plan.Create) + len(plan.Delete); got != MaxPerSync || (plan.Again.Why == requeue.RequeueMore) != test.more {
				t.Errorf("%d in one sync, more: %v; want %d and %v", got, plan.Again.Why, MaxPerSync, test.more)
			}
		})
	}
}

// A backoff without a failure, as in a namespace that is being deleted, is not reported.
func TestSilentHold(t *testing.T) {
	o := Observe(Manager(3), Pod(0))
	o.Backoffs = map[requeue.BackoffKey]requeue.Backoff{CreateBackoff(RevisionFor(o.Manager)): {Until: Now.Add(time.Minute)}}
	if plan := Make(o); len(plan.Create) > 0 || plan.Blocked != nil || Until(plan.Again) != time.Minute {
		t.Errorf("plans %v, blocked %v, again %v", ActionsOf(plan), plan.Blocked, plan.Again)
	}
}
