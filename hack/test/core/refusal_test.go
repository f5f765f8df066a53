//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The API server refuses an invalid spec at apply, with a message that says what to do.
func TestBadInputIsRefused(t *testing.T) {
	const template = "template: {%s spec: {%s containers: [{name: a, image: a}]}}"
	tests := map[string]struct{ name, spec, want string }{
		"negative replicas":        {"web", "{replicas: -1, image: a}", "spec.replicas in body should be greater than or equal to 0"},
		"negative minReadySeconds": {"web", "{minReadySeconds: -1, image: a}", "spec.minReadySeconds in body should be greater than or equal to 0"},
		"replicas that are text":   {"web", "{replicas: many, image: a}", "spec.replicas"},
		"neither":                  {"web", "{replicas: 1}", "set exactly one of spec.image (short form: one container named app) and spec.template (a whole pod template)"},
		"both":                     {"web", "{image: a, " + fmt.Sprintf(template, "", "") + "}", "set exactly one of spec.image"},
		"empty image":              {"web", "{image: ''}", "spec.image in body should be at least 1 chars long"},
		"no containers":            {"web", "{template: {spec: {containers: []}}}", "spec.template.spec.containers in body should have at least 1 items"},
		"no pod spec":              {"web", "{template: {}}", "spec.template.spec.containers needs at least one container"},
		"restartPolicy":            {"web", "{" + fmt.Sprintf(template, "", "restartPolicy: Never,") + "}", `spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		"activeDeadlineSeconds":    {"web", "{" + fmt.Sprintf(template, "", "activeDeadlineSeconds: 600,") + "}", "activeDeadlineSeconds would end each pod for good, and each of its replacements; remove it"},
		"another's label":          {"web", "{" + fmt.Sprintf(template, "metadata: {labels: {podmanager: other}},", "") + "}", "the template's label podmanager must be the PodManager's own name"},
		"our labels":               {"web", "{" + fmt.Sprintf(template, "metadata: {labels: {podmanager-uid: x}},", "") + "}", "are set by the controller; remove them from the template"},
		"our annotations":          {"web", "{" + fmt.Sprintf(template, "metadata: {annotations: {apps.mycompany.com/delete: 'true'}},", "") + "}", "are for single pods; remove them from the template"},
		"a long name":              {strings.Repeat("a", 53), "{image: a}", "metadata.name may have at most 52 characters"},
		"an unknown field":         {"web", "{image: a, replica: 5}", `unknown field "spec.replica"`},
	}
	s := newSpace(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := s.DryRun(harness.Manifest(test.name, "", test.spec))
			if err == nil || !strings.Contains(out, test.want) {
				t.Errorf("create: %v\n%s\nwant: %s", err, out, test.want)
			}
		})
	}
	good := map[string]struct{ name, spec string }{
		"the longest name": {strings.Repeat("a", 52), "{image: a}"},
		"our own label":    {"own", "{" + fmt.Sprintf(template, "metadata: {labels: {podmanager: own}},", "") + "}"},
		"Always":           {"always", "{" + fmt.Sprintf(template, "", "restartPolicy: Always,") + "}"},
	}
	for name, test := range good {
		t.Run(name, func(t *testing.T) {
			if out, err := s.DryRun(harness.Manifest(test.name, "", test.spec)); err != nil {
				t.Errorf("create: %v\n%s", err, out)
			}
		})
	}
}

// awaitRefusal waits until the status reports that the pods are refused.
func (s *space) awaitRefusal(name, reason, words string) {
	s.T.Helper()
	s.Await("the status to report the refusal", func() (any, bool) {
		failure, stalled, ready := s.Condition(name, v1.ConditionReplicaFailure), s.Condition(name, v1.ConditionStalled), s.Condition(name, v1.ConditionReady)
		return harness.Brief(s.Manager(name)), failure.Status == metav1.ConditionTrue && failure.Reason == v1.ReasonFailedCreate &&
			strings.Contains(failure.Message, words) && stalled.Reason == reason && ready.Reason == reason && ready.Status == metav1.ConditionFalse
	})
}

// failureEvents returns the number of events that warn about the pods of a PodManager, and how often they happened, as far as the API server knows.
func (s *space) failureEvents(name string) (objects, count int) {
	s.T.Helper()
	events, err := shared.kube.EventsV1().Events(s.Name).List(s.Ctx, metav1.ListOptions{
		FieldSelector: "regarding.name=" + name + ",reason=" + v1.EventFailedCreate,
	})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, event := range events.Items {
		count++
		if event.Series != nil {
			count += int(event.Series.Count) - 1
		}
	}
	return len(events.Items), count
}

// An invalid pod that the CRD does not refuse is reported in the condition ReplicaFailure and in one event, whose count goes up. Other PodManagers
// are not affected.
func TestInvalidPod(t *testing.T) {
	s := newSpace(t)
	controller := s.private() // so that only failures of this test are counted below
	bad := "{replicas: 3, template: {spec: {containers: [{name: a, image: a, volumeMounts: [{name: missing, mountPath: /x}]}]}}}"
	s.applyPrivate("bad", bad)
	s.applyPrivate("good", "{replicas: 2, image: nginx}")
	s.awaitRefusal("bad", v1.ReasonInvalidPod, `volumeMounts[0].name: Not found: "missing"`)
	s.awaitReady("good", 2)

	// Wait for a few more attempts.
	s.Await("another try", func() (any, bool) {
		n := metric(t, controller, "podmanager_pod_request_failures_total", "")
		return n, n >= 3
	})
	s.Await("the event to be counted", func() (any, bool) {
		objects, count := s.failureEvents("bad")
		if objects > 1 {
			t.Fatalf("%d events about the failure, want 1", objects)
		}
		return count, count > 1
	})
	if got := len(s.AllPods()); got != 2 {
		t.Errorf("%d pods, want the two good ones", got)
	}

	// The controller tries a corrected spec at once, and the failure is over.
	s.applyPrivate("bad", "{replicas: 3, image: nginx}")
	s.awaitReady("bad", 3)
	for _, kind := range []string{v1.ConditionReplicaFailure, v1.ConditionStalled} {
		if left := s.Condition("bad", kind); left.Type != "" {
			t.Errorf("%s is left: %+v", kind, left)
		}
	}
}

func TestQuota(t *testing.T) {
	s := newSpace(t)
	s.Kubectl("create", "quota", "few", "--hard=pods=5")
	s.Await("the quota to be in force", func() (any, bool) {
		out := s.Kubectl("get", "quota", "few", "-o", "jsonpath={.status.hard.pods}")
		return out, out == "5"
	})
	s.apply("web", "{replicas: 50, image: nginx}")
	s.awaitRefusal("web", v1.ReasonForbidden, "exceeded quota: few")
	s.Await("five pods to be ready", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.ReadyReplicas == 5 && manager.Status.Replicas == 5
	})
	s.Kubectl("delete", "quota", "few")
	s.AwaitFor(2*harness.Patience, "all pods once the quota is gone", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), harness.IsReady(manager) && manager.Status.Replicas == 50
	})
}
