//go:build e2e

package upgrade

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Today's version replaces the earlier one, and the other way round, while PodManagers are in every state. Some of them go through the upgrade and
// end under today's version, some go through the upgrade and the downgrade, and some begin under today's version and go through the downgrade.
//
// An upgrade begins with the CRD, and a downgrade ends with it and a restart. So today's controller never runs with the earlier CRD, and the earlier
// one has no object in its cache that still has the fields of today's CRD: it would take such an object for outdated until its next change.
func TestUpgradeAndBack(t *testing.T) {
	if missing != "" {
		t.Skip(missing)
	}
	f := newFleet(t)
	f.install(earlier)
	f.replace(earlier)
	up, upAndDown, down := f.populate("up"), f.populate("up-and-down"), f.populate("down")

	f.step("the earlier version begins", func() {
		f.travel(begins(up), begins(upAndDown))
		f.freeze(up, upAndDown)
	})
	f.step("the upgrade", func() {
		f.install(today)
		f.replace(today)
	})
	f.step("today's version ends and begins", func() {
		f.release(up)
		f.travel(ends(up), begins(down))
		f.wantEnded(up)
		f.freeze(down)
	})
	f.step("the downgrade", func() {
		f.replace(earlier)
		f.install(earlier)
		f.replace(earlier)
	})
	f.step("the earlier version ends", func() {
		f.release(upAndDown, down)
		f.travel(ends(upAndDown), ends(down))
		f.wantEnded(upAndDown, down)
	})
	f.wantDecodable()
}

// step does a part of the test, and then checks the PodManagers that must not change.
func (f *fleet) step(name string, do func()) {
	f.T.Helper()
	began := time.Now()
	do()
	f.judge(name)
	f.T.Logf("%s: %.1f s", name, time.Since(began).Seconds())
	if f.T.Failed() {
		f.T.FailNow() // further failures would only be consequences
	}
}

func (f *fleet) install(v *version) {
	f.T.Helper()
	if err := v.install(f.T.Context()); err != nil {
		f.T.Fatal(err)
	}
}

func begins(subjects []*subject) (all []course) {
	for _, each := range subjects {
		all = append(all, course{each, each.begin})
	}
	return all
}

func ends(subjects []*subject) (all []course) {
	for _, each := range subjects {
		all = append(all, course{each, each.end})
	}
	return all
}

// freeze makes the witness report every change of the PodManagers' objects from now on, and remembers their pods.
func (f *fleet) freeze(subjects ...[]*subject) {
	f.T.Helper()
	f.hold(slices.Concat(subjects...))
	views := f.views()
	for _, each := range slices.Concat(subjects...) {
		each.pods = map[string]types.UID{}
		for _, pod := range views[each.key()].pods {
			each.pods[pod.Name] = pod.UID
		}
	}
}

// wantEnded checks the pods of PodManagers at their end: none is orphaned, and those that are updated in place are still the same.
func (f *fleet) wantEnded(subjects ...[]*subject) {
	f.T.Helper()
	views := f.views()
	for _, each := range slices.Concat(subjects...) {
		v := views[each.key()]
		for _, pod := range v.pods {
			if !metav1.IsControlledBy(pod, v.manager) {
				f.T.Errorf("%s/%s has the owners %v, not %s", each.Name, pod.Name, pod.OwnerReferences, each.name)
			}
			if restarts := pod.Status.ContainerStatuses[0].RestartCount; each.restarts != nil && (pod.UID != each.pods[pod.Name] || restarts != *each.restarts) {
				f.T.Errorf("%s/%s was pod %s and is %s, restarted %d times, want %d", each.Name, pod.Name, each.pods[pod.Name], pod.UID, restarts, *each.restarts)
			}
		}
	}
}
