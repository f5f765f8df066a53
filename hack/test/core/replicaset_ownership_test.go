//go:build e2e

package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// otherOwner returns a reference to an object that exists, so that the garbage collector leaves its dependents alone.
func (s *space) otherOwner(controller *bool) metav1.OwnerReference {
	s.T.Helper()
	config, err := shared.kube.CoreV1().ConfigMaps(s.Name).Create(s.Ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}, metav1.CreateOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: config.Name, UID: config.UID, Controller: controller}
}

// ownedBy returns a reference to a PodManager.
func ownedBy(manager *v1.PodManager, controller, block *bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1.GroupVersionKind.GroupVersion().String(), Kind: v1.Kind, Name: manager.Name, UID: manager.UID,
		Controller: controller, BlockOwnerDeletion: block,
	}
}

// The controller adopts a pod with the label if the pod has no controller, whatever other owners it has, and creates no pod in its place. The pods
// exist before the controller starts.
func TestAdoptionByReference(t *testing.T) {
	s := newSpace(t)
	yes := new(true)
	other := s.otherOwner(yes)
	type owners = func(m *v1.PodManager) []metav1.OwnerReference
	only := func(controller, block *bool) owners {
		return func(m *v1.PodManager) []metav1.OwnerReference {
			return []metav1.OwnerReference{ownedBy(m, controller, block)}
		}
	}
	none := func(*v1.PodManager) []metav1.OwnerReference { return nil }
	beside := func(m *v1.PodManager) []metav1.OwnerReference {
		return []metav1.OwnerReference{other, ownedBy(m, nil, nil)}
	}
	tests := []struct {
		name         string
		before, want owners
		pod          string // the only pod of the PodManager in the end
	}{
		{"a pod without owners is adopted", none, only(yes, yes), "by-hand-0"},
		{"an owner that is not the controller becomes it", only(nil, nil), only(yes, yes), "by-hand-1"},
		{"a controller stays as it is", only(yes, nil), only(yes, nil), "by-hand-2"},
		{"a pod with another controller is left alone", beside, beside, "web-3-0"},
	}
	for i, test := range tests {
		s.applyPrivate(fmt.Sprintf("web-%d", i), "{replicas: 1, image: nginx}")
		manager := s.Manager(fmt.Sprintf("web-%d", i))
		s.createPod(fmt.Sprintf("by-hand-%d", i), func(pod *corev1.Pod) {
			labelled(manager.Name)(pod)
			pod.OwnerReferences = test.before(manager)
		})
	}
	s.private()
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := s.with(t)
			manager := s.Manager(fmt.Sprintf("web-%d", i))
			s.Await("the status to name "+test.pod, func() (any, bool) {
				status := s.Manager(manager.Name).Status
				return status, status.Replicas == 1 && slices.Equal(status.PodNames, []string{test.pod})
			})
			got, want := s.pod(fmt.Sprintf("by-hand-%d", i)).OwnerReferences, test.want(manager)
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("owners %v, want %v", got, want)
			}
		})
	}
	if got, want := podNames(s.AllPods()), []string{"by-hand-0", "by-hand-1", "by-hand-2", "by-hand-3", "web-3-0"}; !slices.Equal(got, want) {
		t.Errorf("pods %v, want %v", got, want)
	}
}

// If another client overwrites the owner references of a pod, the controller adopts the pod again in addition to its other owners, and does not
// replace it.
func TestAdoptionBesideOtherOwners(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: nginx}")
	manager := s.awaitReady("web", 1)
	no, yes := new(false), new(true)
	other := s.otherOwner(no)
	tests := []struct {
		name         string
		before, want []metav1.OwnerReference
	}{
		{"beside another owner", []metav1.OwnerReference{other}, []metav1.OwnerReference{other, ownedBy(manager, yes, yes)}},
		{"in place of a reference that does not control", []metav1.OwnerReference{ownedBy(manager, no, nil)}, []metav1.OwnerReference{ownedBy(manager, yes, yes)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := s.with(t)
			before := uids(s.AllPods())
			references, err := json.Marshal(test.before)
			if err != nil {
				t.Fatal(err)
			}
			s.patchPod("web-0", `{"ownerReferences":`+string(references)+`}`)
			s.Await("the pod to be taken back", func() (any, bool) {
				got := s.pod("web-0").OwnerReferences
				return got, len(got) == len(test.want) && !slices.ContainsFunc(test.want, func(want metav1.OwnerReference) bool {
					return !slices.ContainsFunc(got, func(got metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(got, want) })
				})
			})
			s.awaitReady("web", 1)
			if after := uids(s.AllPods()); len(after) != 1 || after["web-0"] != before["web-0"] {
				t.Errorf("pods were replaced: before %v, after %v", before, after)
			}
		})
	}
}

// A pod that loses its label is released, keeps running and is replaced. When it gets the label back, there is one pod too many.
func TestRelabelledPod(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: nginx}")
	s.awaitReady("web", 1)
	before := s.pod("web-0")
	s.patchPod("web-0", `{"labels":{"podmanager":null,"debug":"yes"}}`)
	s.Await("the pod to be released", func() (any, bool) {
		pod := s.pod("web-0")
		_, marked := pod.Labels[v1.LabelManagerUID]
		return pod.ObjectMeta, len(pod.OwnerReferences) == 0 && !marked
	})
	manager := s.awaitReady("web", 1)
	if want := []string{"web-1"}; !slices.Equal(manager.Status.PodNames, want) {
		t.Errorf("the status names %v, want %v", manager.Status.PodNames, want)
	}
	if pod := s.pod("web-0"); pod.UID != before.UID || pod.DeletionTimestamp != nil || pod.Labels["debug"] != "yes" {
		t.Errorf("the released pod was not left alone: %+v", pod.ObjectMeta)
	}

	s.patchPod("web-0", `{"labels":{"podmanager":"web"}}`)
	s.Await("one pod to be left", func() (any, bool) { got := podNames(s.AllPods()); return got, len(got) == 1 })
	s.awaitReady("web", 1)
	// The newer pod has to be deleted.
	if pod := s.pod("web-0"); pod.UID != before.UID || !metav1.IsControlledBy(pod, manager) || pod.Labels[v1.LabelManagerUID] != string(manager.UID) {
		t.Errorf("the pod was not taken back: %+v", pod.ObjectMeta)
	}
}

// A pod that cannot be released is not replaced, because its replacement would be one pod too many. The status reports it, and the controller
// retries.
func TestFailedRelease(t *testing.T) {
	f := newFaulty(t)
	f.applyPrivate("web", "{replicas: 3, image: nginx}")
	f.awaitReady("web", 3)
	w := f.WatchPods()
	triedAndTold := func(name string) {
		t.Helper()
		f.Await("the release to be tried twice, and its failure to be reported", func() (any, bool) {
			failure := f.Condition("web", v1.ConditionReplicaFailure)
			return failure, f.proxy.Count(name) > 1 && failure.Status == metav1.ConditionTrue && failure.Reason == v1.ReasonFailedClaim
		})
	}
	fail := f.answer("failed", 500, f.own("patch", "pods"))
	f.patchPod("web-1", `{"labels":{"podmanager":null}}`)
	triedAndTold("failed")
	refuse := f.answer("refused", 403, f.own("patch", "pods"))
	fail()
	triedAndTold("refused")
	w.Always(withinBudget(0, 3, 0)) // once it is released, there are four
	refuse()
	f.Await("the pod to be released", func() (any, bool) { pod := f.pod("web-1"); return pod.ObjectMeta, len(pod.OwnerReferences) == 0 })
	manager := f.awaitReady("web", 3)
	if want := []string{"web-0", "web-2", "web-3"}; !slices.Equal(manager.Status.PodNames, want) {
		t.Errorf("the status names %v, want %v", manager.Status.PodNames, want)
	}
	if failure := f.Condition("web", v1.ConditionReplicaFailure); failure.Status == metav1.ConditionTrue {
		t.Errorf("the failure is still reported: %+v", failure)
	}
}

// A pod that cannot be adopted does not count: neither it nor any other pod is deleted because of it.
func TestFailedAdoption(t *testing.T) {
	f := newFaulty(t)
	f.applyPrivate("web", "{replicas: 2, image: nginx}")
	f.awaitReady("web", 2)
	mend := f.answer("failed", 500, f.own("patch", "pods"))
	f.createPod("by-hand", labelled("web"))
	before := uids(f.Pods())
	f.Await("the adoption to be tried a few times, and its failure to be reported", func() (any, bool) {
		failure := f.Condition("web", v1.ConditionReplicaFailure)
		return failure, f.proxy.Count("failed") > 3 && failure.Reason == v1.ReasonFailedClaim
	})
	if now := uids(f.Pods()); !maps.Equal(now, before) || len(before) != 3 {
		t.Errorf("the pods were %v, now they are %v", before, now)
	}
	mend()
	f.Await("two pods to be left", func() (any, bool) { got := podNames(f.AllPods()); return got, len(got) == 2 })
	f.awaitReady("web", 2)
}

// If there are more orphans than replicas, the controller adopts all, deletes the surplus, and creates none.
func TestExtraPods(t *testing.T) {
	s := newSpace(t)
	before := map[string]bool{}
	for i := range 3 {
		before[string(s.createPod(fmt.Sprintf("by-hand-%d", i), labelled("web")).UID)] = true
	}
	s.apply("web", "{replicas: 2, image: nginx}")
	s.Await("two pods to be left", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.Replicas == 2 && len(s.AllPods()) == 2
	})
	manager := s.Manager("web")
	for _, pod := range s.AllPods() {
		if !before[string(pod.UID)] || !metav1.IsControlledBy(&pod, manager) {
			t.Errorf("%s is new, or not under control: %+v", pod.Name, pod.ObjectMeta)
		}
	}
}

// Two PodManagers whose pods differ only in our label do not mix them up.
func TestSameTemplateLabels(t *testing.T) {
	s := newSpace(t)
	const template = "template: {metadata: {labels: {app: same, tier: same}}, spec: {containers: [{name: a, image: a}]}}"
	s.apply("one", "{replicas: 1, "+template+"}")
	s.apply("two", "{replicas: 2, "+template+"}")
	s.awaitReady("one", 1)
	s.awaitReady("two", 2)
	s.awaitPods("one-0 two-0 two-1")
}

// A pod that gets the label of another PodManager changes its owner once, and the two do not fight over it.
func TestPodMovesToAnotherManager(t *testing.T) {
	s := newSpace(t)
	s.apply("from", "{replicas: 2, image: nginx}")
	s.apply("to", "{replicas: 1, image: nginx}")
	from, to := s.awaitReady("from", 2), s.awaitReady("to", 1)
	s.patchPod("from-0", `{"labels":{"podmanager":"to"}}`)
	s.Await("each PodManager to have its number of pods again", func() (any, bool) {
		pods := s.AllPods()
		ours, theirs := 0, 0
		for _, pod := range pods {
			if metav1.IsControlledBy(&pod, from) && pod.Labels[v1.LabelManager] == "from" && pod.Name != "from-0" {
				ours++
			}
			if metav1.IsControlledBy(&pod, to) && pod.Labels[v1.LabelManager] == "to" {
				theirs++
			}
		}
		return podNames(pods), len(pods) == 3 && ours == 2 && theirs == 1
	})
	s.awaitReady("from", 2)
	s.awaitReady("to", 1)
	settled := uids(s.AllPods())
	harness.Steadily(s.T, time.Second, "the pods stay as they are", func() (any, bool) {
		now := uids(s.AllPods())
		return now, equality.Semantic.DeepEqual(now, settled)
	})
}

// A pod that lost its label while no controller was running is released, although no pod is missing.
func TestRelabelledWhileNobodyWatched(t *testing.T) {
	s := newSpace(t)
	controller := s.private()
	s.applyPrivate("web", "{replicas: 2, image: nginx}")
	s.awaitReady("web", 2)
	kill(t, controller)
	before := s.pod("web-1")
	s.patchPod("web-1", `{"labels":{"podmanager":null}}`)
	s.patchManager("web", `{"spec":{"replicas":1}}`)
	s.private()
	s.Await("web-1 to be released", func() (any, bool) {
		pod := s.pod("web-1")
		return pod.OwnerReferences, pod.UID == before.UID && len(pod.OwnerReferences) == 0
	})
	s.awaitReady("web", 1)
}
