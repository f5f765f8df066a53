//go:build e2e

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// revisions returns the ControllerRevisions of a PodManager, the oldest first.
func (s *space) revisions(name string) []appsv1.ControllerRevision {
	s.T.Helper()
	list, err := shared.kube.AppsV1().ControllerRevisions(s.Name).List(s.Ctx, metav1.ListOptions{LabelSelector: v1.LabelManager + "=" + name})
	if err != nil {
		s.T.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

// numbers returns the numbers of revisions.
func numbers(revisions []appsv1.ControllerRevision) []int64 {
	list := []int64{}
	for _, revision := range revisions {
		list = append(list, revision.Revision)
	}
	return list
}

// awaitRevisions waits until exactly the revisions with these numbers exist.
func (s *space) awaitRevisions(name string, want ...int64) []appsv1.ControllerRevision {
	s.T.Helper()
	var revisions []appsv1.ControllerRevision
	s.Await(fmt.Sprintf("the revisions %v", want), func() (any, bool) {
		revisions = s.revisions(name)
		return numbers(revisions), slices.Equal(numbers(revisions), want)
	})
	return revisions
}

// Only a change of the template creates a revision. Other changes neither create one nor touch a pod.
func TestNoRevisionForOtherChanges(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 3, image: nginx}")
	s.awaitReady("web", 3)
	pods, before := uids(s.Pods()), appsv1.ControllerRevision{}
	s.Await("the revision to be good", func() (any, bool) {
		before = s.awaitRevisions("web", 1)[0]
		return before.Annotations, before.Annotations[v1.AnnotationGood] != ""
	})
	for _, patch := range []string{
		`{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`,
		`{"spec":{"minReadySeconds":1}}`,
		`{"spec":{"paused":true}}`,
		`{"spec":{"paused":false,"progressDeadlineSeconds":60,"revisionHistoryLimit":2,"failedPodsHistoryLimit":3}}`,
		`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1,"maxSurge":0,"podUpdatePolicy":"InPlaceIfPossible"}}}}`,
		`{"spec":{"failurePolicy":{"onFailure":"Rollback","failureThreshold":"20%"},"scaleDown":{"maxTerminating":1},"podReplacementPolicy":"TerminationComplete"}}`,
		`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`,
		`{"spec":{"updateStrategy":{"type":"Recreate"}}}`,
		`{"spec":{"image":null,"template":{"spec":{"containers":[{"name":"app","image":"nginx"}]}}}}`, // the same, in the long form
		`{"spec":{"replicas":5}}`,
	} {
		s.patchManager("web", patch)
		s.Await("the change to be seen: "+patch, func() (any, bool) {
			manager := s.Manager("web")
			return harness.Brief(manager), harness.IsReady(manager)
		})
	}
	s.awaitReady("web", 5)
	after := s.awaitRevisions("web", 1)[0]
	if after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the revision was touched: %+v, before %+v", after, before)
	}
	now := uids(s.Pods())
	for name, uid := range pods {
		if now[name] != uid {
			t.Errorf("%s was replaced", name)
		}
	}
}

// The change cause that a user sets is stored with the revision, and is in the event about its rollout.
func TestChangeCause(t *testing.T) {
	s := newSpace(t)
	change := func(image, cause string) {
		s.patchManager("web", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"image":%q}}`, v1.AnnotationChangeCause, cause, image))
		s.awaitReady("web", 2)
	}
	s.apply("web", "{replicas: 2, image: 'nginx:1'}")
	s.awaitReady("web", 2)
	change("nginx:2", "the new shop")
	change("nginx:3", "the shop's bug")
	change("nginx:3", "the shop's first bug") // only the change cause differs
	s.Await("the change causes of the revisions", func() (any, bool) {
		reasons := []string{}
		for _, revision := range s.revisions("web") {
			reasons = append(reasons, revision.Annotations[v1.AnnotationChangeCause])
		}
		return reasons, slices.Equal(reasons, []string{"", "the new shop", "the shop's first bug"})
	})
	started := v1.EventStarted
	if notes := s.awaitEvents("web", started, started); !strings.Contains(notes, ", image nginx:2: the new shop\n") {
		t.Errorf("events:\n%s", notes)
	}
}

// revisionHistoryLimit old revisions are kept, in addition to the revisions in use.
func TestRevisionHistoryLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int][]int64{0: {4}, 2: {2, 3, 4}} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			s := newSpace(t)
			limited := fmt.Sprintf(", revisionHistoryLimit: %d", limit)
			for image := range 4 {
				s.apply("web", spec(3, fmt.Sprintf("nginx:%d", image), limited))
				s.awaitReady("web", 3)
			}
			s.awaitRevisions("web", want...)

			// While a rollout hangs, the last good revision is in use even if it has no pod.
			s.apply("web", spec(2, "nginx:never-ready", limited))
			s.awaitState("web", "2 pods, 0 current, 2 updated, 0 available: Ready=False/PodsNotReady Available=True/EnoughReplicas Progressing=True/WaitingForPods")
			s.awaitRevisions("web", append(want, 5)...)
			harness.Steadily(s.T, time.Second, "no revision to be dropped", func() (any, bool) { n := len(s.revisions("web")); return n, n == len(want)+1 })
			s.apply("web", spec(3, "nginx:5", ", revisionHistoryLimit: 0"))
			s.awaitReady("web", 3)
			s.awaitRevisions("web", 6)
		})
	}
}

// A user rolls back as the manual describes, by applying the old template. It is still the old revision, which gets a new number.
func TestRollbackByHand(t *testing.T) {
	s := newSpace(t)
	for _, image := range []string{"nginx:1", "nginx:2", "nginx:3"} {
		s.apply("short", fmt.Sprintf("{replicas: 2, image: %q}", image))
		s.apply("long", fmt.Sprintf("{replicas: 2, template: {metadata: {labels: {a: b}}, spec: {terminationGracePeriodSeconds: 7, containers: [{name: main, image: %q, "+
			"ports: [{containerPort: 80}], resources: {requests: {cpu: '0.5', memory: 1Gi}}}]}}}", image))
		s.awaitReady("short", 2)
		s.awaitReady("long", 2)
	}
	for name, more := range map[string]string{"short": `,{"op":"remove","path":"/spec/image"}`, "long": ""} {
		before := s.awaitRevisions(name, 1, 2, 3)
		data := s.Kubectl("get", "controllerrevision", before[0].Name, "-o", "jsonpath={.data}")
		s.Kubectl("patch", "pm", name, "--type", "json", "-p", fmt.Sprintf(`[{"op":"add","path":"/spec/template","value":%s}%s]`, data, more))
		manager := s.awaitReady(name, 2)
		after := s.awaitRevisions(name, 2, 3, 4)
		if after[2].UID != before[0].UID || manager.Status.CurrentRevision != before[0].Name {
			t.Errorf("%s: the old revision was not used again: %s", name, harness.Brief(manager))
		}
		for _, pod := range s.Pods() {
			if pod.Labels[v1.LabelManager] == name && pod.Spec.Containers[0].Image != "nginx:1" {
				t.Errorf("%s runs %s", pod.Name, pod.Spec.Containers[0].Image)
			}
		}
	}
}

// A restart replaces all pods as a rollout does, and can be repeated. It works with the short form and with a full template. The annotation of
// kubectl rollout restart has the same effect.
func TestRestart(t *testing.T) {
	t.Parallel()
	const full = "template: {metadata: {annotations: {a: b}}, spec: {containers: [{name: a, image: a}]}}"
	field := func(at string) string { return fmt.Sprintf(`{"spec":{"restartAt":%q}}`, at) }
	annotation := func(at string) string {
		return fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, v1.AnnotationRestartedAt, at)
	}
	for name, test := range map[string]struct {
		template string
		patch    func(at string) string
	}{
		"the short form":            {"image: nginx", field},
		"in full":                   {full, field},
		"in full, by an annotation": {full, annotation},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", rolloutSpec(4, "maxSurge: 1, maxUnavailable: 1", test.template))
			s.awaitReady("web", 4)
			w := s.WatchPods()
			for number, at := range []string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"} {
				before := slices.Collect(maps.Values(uids(s.Pods())))
				s.Kubectl("patch", "pm", "web", "--type", "merge", "-p", test.patch(at))
				s.awaitReady("web", 4)
				for _, pod := range s.Pods() {
					if slices.Contains(before, pod.UID) || pod.Annotations[v1.AnnotationRestartedAt] != at {
						t.Errorf("%s was not replaced: %v", pod.Name, pod.Annotations)
					}
				}
				s.awaitRevisions("web", []int64{1, 2, 3}[:number+2]...)
			}
			w.Always(within(3, 5, serves))
		})
	}
}

// The same time in another notation is not a restart. Neither is it a restart to replace the short form and its restartAt by the full template that
// the revision stores.
func TestNoRestart(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: nginx, restartAt: '2026-01-01T12:00:00Z'}")
	s.awaitReady("web", 2)
	before, revision := uids(s.Pods()), s.awaitRevisions("web", 1)[0]
	data := s.Kubectl("get", "controllerrevision", revision.Name, "-o", "jsonpath={.data}")
	for _, patch := range []string{
		`{"spec":{"restartAt":"2026-01-01T13:00:00.5+01:00"}}`,
		fmt.Sprintf(`{"spec":{"restartAt":null,"image":null,"template":%s}}`, data),
	} {
		s.Kubectl("patch", "pm", "web", "--type", "merge", "-p", patch)
		s.awaitReady("web", 2)
		if now := uids(s.Pods()); !maps.Equal(now, before) {
			t.Errorf("after %s there are other pods: %v, before %v", patch, now, before)
		}
		s.awaitRevisions("web", 1)
	}
}

// The short form has no template for kubectl's annotation, and the API server says so.
func TestNoAnnotationInTheShortForm(t *testing.T) {
	s := newSpace(t)
	s.apply("short", "{replicas: 1, image: nginx}")
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"now"}}}}}`, v1.AnnotationRestartedAt)
	if out, err := s.TryKubectl("", "patch", "pm", "short", "--type", "merge", "-p", patch); err == nil || !strings.Contains(out, "set exactly one of spec.image") {
		t.Errorf("kubectl patch: %v\n%s", err, out)
	}
}

// If a user deletes a revision that is in use, the controller stores it again under the same name, and touches no pod.
func TestDeletedRevisionComesBack(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(3, "nginx:1", ""))
	s.awaitReady("web", 3)
	goneAndBack := func(name string, want ...int64) {
		t.Helper()
		before, was := uids(s.Pods()), state(s.Manager("web"))
		s.Kubectl("delete", "controllerrevision", name)
		s.awaitRevisions("web", want...)
		harness.Steadily(s.T, time.Second, "no pod is replaced", func() (any, bool) { now := uids(s.Pods()); return now, maps.Equal(now, before) })
		s.awaitState("web", was)
	}
	current := s.Manager("web").Status.CurrentRevision
	goneAndBack(current, 1)
	s.apply("web", spec(3, "nginx:never-ready", ""))
	manager := s.awaitState("web", "4 pods, 1 current, 3 updated, 1 available: "+rollingOut)
	if manager.Status.CurrentRevision != current {
		t.Errorf("the revision that came back is not the current one: %s", harness.Brief(manager))
	}
	goneAndBack(manager.Status.UpdateRevision, 1, 2)
	goneAndBack(current, 1, 2)
}

// A PodManager that is deleted without its pods and created again adopts the pods and their revision.
func TestOrphanedPodsKeepTheirRevision(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 3, image: nginx}")
	s.awaitReady("web", 3)
	pods, revision := uids(s.Pods()), s.awaitRevisions("web", 1)[0]
	s.Kubectl("delete", "pm", "web", "--cascade=orphan")
	if orphan := s.awaitRevisions("web", 1)[0]; orphan.UID != revision.UID || len(orphan.OwnerReferences) != 0 {
		t.Errorf("the revision is not orphaned: %+v", orphan.ObjectMeta)
	}
	s.apply("web", "{replicas: 3, image: nginx}")
	manager := s.awaitState("web", "3 pods, 3 current, 3 updated, 3 available: "+allDone)
	s.awaitReady("web", 3)
	if now := uids(s.Pods()); !maps.Equal(now, pods) {
		t.Errorf("pods were replaced: %v, before %v", now, pods)
	}
	if now := s.awaitRevisions("web", 1)[0]; now.UID != revision.UID || !metav1.IsControlledBy(&now, manager) || manager.Status.CurrentRevision != now.Name {
		t.Errorf("the revision was not taken over: %+v", now.ObjectMeta)
	}
}
