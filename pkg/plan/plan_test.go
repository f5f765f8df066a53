package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// want is a plan in names.
type want struct {
	create       []int
	remove       []string
	why          Why
	adopt        []string
	release      []string
	addFinalizer bool
	finalize     bool
	held         bool
	again        time.Duration
}

func TestMake(t *testing.T) {
	refused := &Hold{Until: now.Add(time.Minute), Failure: Failure{Reason: v1.ReasonForbidden}}
	tests := map[string]struct {
		observed Observed
		want     want
	}{
		"a fresh PodManager gets its finalizer and all its pods": {
			observed: observe(manager(3, func(m *v1.PodManager) { m.Finalizers = nil })),
			want:     want{addFinalizer: true, create: []int{0, 1, 2}},
		},
		"replicas left out means three": {
			observed: observe(manager(0, func(m *v1.PodManager) { m.Spec.Replicas = nil })),
			want:     want{create: []int{0, 1, 2}},
		},
		"nothing to do once all are there": {
			observed: observe(manager(3), pods3()...),
		},
		"pods that are not ready count": {
			observed: observe(manager(3), pod(0, notReady), pod(1, phase(corev1.PodPending)), pod(2, phase(corev1.PodUnknown))),
		},
		"a missing pod is replaced under its own index": {
			observed: observe(manager(3), pod(0), pod(2)),
			want:     want{create: []int{1}},
		},
		"the index of a pod that is ending is in use": {
			observed: observe(manager(3), pod(0), pod(1, terminating), pod(2)),
			want:     want{create: []int{3}},
		},
		"a failed pod is removed and replaced": {
			observed: observe(manager(3), pod(0), pod(1, phase(corev1.PodFailed)), pod(2)),
			want:     want{create: []int{3}, remove: []string{"web-1"}, why: WhyEnded},
		},
		"a pod that has succeeded is removed and replaced": {
			observed: observe(manager(1), pod(0, phase(corev1.PodSucceeded))),
			want:     want{create: []int{1}, remove: []string{"web-0"}, why: WhyEnded},
		},
		"a name that somebody else's pod has is passed over": {
			observed: func() Observed {
				o := observe(manager(3), pod(0))
				o.NameTaken = func(name string) bool { return name == "web-1" || name == "web-3" }
				return o
			}(),
			want: want{create: []int{2, 4}},
		},
		"scaling down deletes the least useful": {
			observed: observe(manager(1), pod(0), pod(1, notReady), pod(2, phase(corev1.PodPending), onNode(""))),
			want:     want{remove: []string{"web-1", "web-2"}, why: WhySurplus},
		},
		"scaling to zero deletes all, but nothing twice": {
			observed: observe(manager(0), pod(0), pod(1, terminating), pod(2)),
			want:     want{remove: []string{"web-0", "web-2"}, why: WhySurplus},
		},
		"a relabelled pod is let go and replaced": {
			observed: observe(manager(3), pod(0), pod(1, labelled(v1.LabelManager, "debug")), pod(2)),
			want:     want{release: []string{"web-1"}, create: []int{3}},
		},
		"a relabelled pod that is ending is left to end": {
			observed: observe(manager(2), pod(0), pod(1, labelled(v1.LabelManager, "debug"), terminating), pod(2)),
		},
		"an orphan is adopted instead of creating a pod": {
			observed: func() Observed {
				o := observe(manager(3), pod(0), pod(1))
				o.Orphans = []*corev1.Pod{pod(7, orphaned)}
				return o
			}(),
			want: want{adopt: []string{"web-7"}},
		},
		"too many orphans: adopted, and the surplus is deleted": {
			observed: func() Observed {
				o := observe(manager(1), pod(0))
				o.Orphans = []*corev1.Pod{pod(7, orphaned, notReady)}
				return o
			}(),
			want: want{adopt: []string{"web-7"}, remove: []string{"web-7"}, why: WhySurplus},
		},
		"orphans that end or have ended are not worth adopting": {
			observed: func() Observed {
				o := observe(manager(1), pod(0))
				o.Orphans = []*corev1.Pod{pod(7, orphaned, terminating), pod(8, orphaned, phase(corev1.PodFailed))}
				return o
			}(),
		},
		"a refused create is not repeated before its time": {
			observed: func() Observed { o := observe(manager(3), pod(0)); o.Hold = refused; return o }(),
			want:     want{held: true, again: time.Minute},
		},
		"a refused create is repeated when its time has come": {
			observed: func() Observed {
				o := observe(manager(2), pod(0))
				o.Hold = &Hold{Until: now}
				return o
			}(),
			want: want{create: []int{1}},
		},
		"a hold does not matter when nothing is missing": {
			observed: func() Observed { o := observe(manager(1), pod(0)); o.Hold = refused; return o }(),
		},
		"on deletion the pods go first": {
			observed: observe(manager(3, deleting), pod(0), pod(1, terminating), pod(2, phase(corev1.PodFailed))),
			want:     want{remove: []string{"web-0", "web-2"}, why: WhyFinalize},
		},
		"on deletion a pod that is ending is waited for": {
			observed: observe(manager(3, deleting), pod(0, terminating)),
		},
		"once the pods are gone the PodManager is let go": {
			observed: observe(manager(3, deleting)),
			want:     want{finalize: true},
		},
		"a deleted PodManager without our finalizer is none of our business": {
			observed: observe(manager(3, deleting, func(m *v1.PodManager) { m.Finalizers = []string{"other"} }), pod(0)),
		},
		"orphaning releases the pods": {
			observed: observe(manager(3, deleting, orphaning), pods3()...),
			want:     want{release: []string{"web-0", "web-1", "web-2"}},
		},
		"once all are released the PodManager is let go": {
			observed: observe(manager(3, deleting, orphaning)),
			want:     want{finalize: true},
		},
		"a deleted PodManager adopts nothing": {
			observed: func() Observed {
				o := observe(manager(3, deleting, orphaning))
				o.Orphans = []*corev1.Pod{pod(0, orphaned)}
				return o
			}(),
			want: want{finalize: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, Make(test.observed), test.want)
		})
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
	same("adopts", names(got.Adopt), want.adopt)
	same("releases", names(got.Release), want.release)
	if !slices.Equal(got.Create, want.create) {
		t.Errorf("creates %v, want %v", got.Create, want.create)
	}
	if got.AddFinalizer != want.addFinalizer || got.Finalize != want.finalize {
		t.Errorf("addFinalizer %v finalize %v, want %v and %v", got.AddFinalizer, got.Finalize, want.addFinalizer, want.finalize)
	}
	if (got.Held != nil) != want.held || got.Again != want.again {
		t.Errorf("held %v again %v, want %v and %v", got.Held, got.Again, want.held, want.again)
	}
}

func TestMakeIsBounded(t *testing.T) {
	if got := len(Make(observe(manager(2000))).Create); got != MaxPerSync {
		t.Errorf("%d creates in one sync, want %d", got, MaxPerSync)
	}
	var many []*corev1.Pod
	for i := range 2000 {
		many = append(many, pod(i))
	}
	if got := len(Make(observe(manager(0), many...)).Delete); got != MaxPerSync {
		t.Errorf("%d deletes in one sync, want %d", got, MaxPerSync)
	}
	if got := len(Make(observe(manager(0, deleting), many...)).Delete); got != MaxPerSync {
		t.Errorf("%d deletes in one sync of a deletion, want %d", got, MaxPerSync)
	}
}
