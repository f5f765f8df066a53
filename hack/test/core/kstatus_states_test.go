//go:build e2e

package core

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A PodManager is in progress while some of its pods do not exist or run yet, even if the controller cannot change that.
func TestKstatusComing(t *testing.T) {
	// Two of these pods do not fit on one node, so the second one stays pending.
	const single = "{replicas: %d, template: {spec: {nodeSelector: {kubernetes.io/hostname: %s}, containers: [{name: a, image: a, ports: [{containerPort: 80, hostPort: 18080}]}]}}}"
	testKstatus(t, map[string]kstatusState{
		"creating": {
			reach: func(s *space) {
				s.apply("web", "{replicas: 2, image: '"+neverReady+"'}")
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPodsNotReady, "^0 of 2 pods ready")
			},
			want:    "InProgress",
			message: "0 of 2 pods ready",
		},
		"scaling": {
			reach: func(s *space) {
				node := s.twoNodes()[0]
				s.apply("web", fmt.Sprintf(single, 1, node))
				s.awaitReady("web", 1)
				s.apply("web", fmt.Sprintf(single, 2, node))
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPodsNotReady, "^1 of 2 pods ready; web-1: Unschedulable")
			},
			want:    "InProgress",
			message: "1 of 2 pods ready",
		},
	})
}

// A PodManager is in progress while its rollout is running or paused, and while a pod is unavailable.
func TestKstatusInProgress(t *testing.T) {
	const paused = "{replicas: 2, paused: %t, image: '%s'}"
	testKstatus(t, map[string]kstatusState{
		"rolling": {
			reach: func(s *space) {
				s.roll("{replicas: 2, image: '%s'}", neverReady)
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonRollingOut, "^1 of 2 pods updated")
			},
			want:    "InProgress",
			message: "1 of 2 pods updated",
		},
		"paused with a change waiting": {
			reach: func(s *space) {
				s.apply("web", fmt.Sprintf(paused, false, good))
				s.awaitReady("web", 2)
				s.apply("web", fmt.Sprintf(paused, true, better))
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPaused, "^paused, 0 of 2 pods updated")
			},
			want:    "InProgress",
			message: "paused, 0 of 2 pods updated",
		},
		"halted a moment ago": {
			reach: func(s *space) {
				s.roll("{replicas: 2, failurePolicy: {gracePeriodSeconds: 599}, image: '%s'}", missing)
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonHalted, "ImagePullBackOff")
			},
			want:    "InProgress",
			message: "halted with 1 pod updated",
		},
		"one pod crash-looping outside a rollout": {
			reach: func(s *space) {
				s.apply("web", "{replicas: 2, image: '"+good+"'}")
				s.awaitReady("web", 2)
				s.setPodStatus("web-1", `{"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"app","image":"a","imageID":"","ready":false,
					"restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]}`)
				s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPodsNotReady, "web-1: container app: CrashLoopBackOff")
			},
			want:    "InProgress",
			message: "1 of 2 pods ready; web-1: container app: CrashLoopBackOff: Error, exit code 1",
		},
	})
}

// roll applies a spec with a good image and, once its pods run, with another image.
func (s *space) roll(spec, image string) {
	s.T.Helper()
	s.apply("web", fmt.Sprintf(spec, good))
	manager := s.Manager("web")
	s.awaitReady("web", int(*manager.Spec.Replicas))
	s.apply("web", fmt.Sprintf(spec, image))
}

// A rollout is complete if the partition or OnDelete excludes the remaining pods. A PodManager without pods is complete, too.
func TestKstatusCurrent(t *testing.T) {
	testKstatus(t, map[string]kstatusState{
		"partition reached": {
			reach: func(s *space) {
				s.roll("{replicas: 2, updateStrategy: {rollingUpdate: {partition: 1}}, image: '%s'}", better)
				s.awaitPartition(good, 1, better, 1)
			},
			want:    "Current",
			message: "Resource is Ready",
		},
		"outdated pods, to be deleted by somebody": {
			reach: func(s *space) {
				s.roll("{replicas: 2, updateStrategy: {type: OnDelete}, image: '%s'}", better)
				s.awaitCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonUpdateOnDelete, "2 outdated")
			},
			want:    "Current",
			message: "Resource is Ready",
		},
		"zero replicas": {
			reach: func(s *space) {
				s.apply("web", "{replicas: 0, image: nginx}")
				s.awaitReady("web", 0)
			},
			want:    "Current",
			message: "Resource is Ready",
		},
		"updated": {
			reach: func(s *space) {
				s.roll("{replicas: 2, image: '%s'}", better)
				s.awaitReady("web", 2)
			},
			want:    "Current",
			message: "Resource is Ready",
		},
	})
}

// A PodManager has failed if the user has to act.
func TestKstatusFailed(t *testing.T) {
	testKstatus(t, map[string]kstatusState{
		"halted": {
			reach: func(s *space) {
				s.roll("{replicas: 2, failurePolicy: {gracePeriodSeconds: 1}, image: '%s'}", missing)
				s.awaitStalled(v1.ReasonHalted, "ImagePullBackOff")
			},
			want:    "Failed",
			message: "ImagePullBackOff",
		},
		"rolled back": {
			reach: func(s *space) {
				s.roll("{replicas: 2, failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}, image: '%s'}", missing)
				s.awaitRolledBack(2, "")
			},
			want:    "Failed",
			message: "has failed and is rolled back",
		},
		"deadline exceeded": {
			reach: func(s *space) {
				s.roll("{replicas: 2, progressDeadlineSeconds: 2, image: '%s'}", neverReady)
				s.awaitStalled(v1.ReasonDeadline, "")
			},
			want:    "Failed",
			message: "no further pod of revision",
		},
		"in place impossible": {
			reach: func(s *space) {
				s.roll("{replicas: 2, updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}, template: {spec: {containers: [{name: a, image: a, env: [{name: E, value: '%s'}]}]}}}", "b")
				s.awaitStalled(v1.ReasonNotInPlace, "env")
			},
			want:    "Failed",
			message: "template.spec.containers[0].env[0].value differs",
		},
	})
}

// awaitStalled waits until web is Stalled.
func (s *space) awaitStalled(reason, words string) {
	s.T.Helper()
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, reason, words)
}

// A PodManager whose pods the API server refuses has failed.
func TestKstatusRefused(t *testing.T) {
	testKstatus(t, map[string]kstatusState{
		"quota refused": {
			reach: func(s *space) {
				s.Kubectl("create", "quota", "none", "--hard=pods=0")
				s.Await("the quota to be in force", func() (any, bool) {
					out := s.Kubectl("get", "quota", "none", "-o", "jsonpath={.status.hard.pods}")
					return out, out == "0"
				})
				s.apply("web", "{replicas: 2, image: nginx}")
				s.awaitStalled(v1.ReasonForbidden, "exceeded quota")
			},
			want:    "Failed",
			message: "exceeded quota: none",
		},
		"invalid pod": {
			reach: func(s *space) {
				s.apply("web", "{replicas: 2, template: {spec: {containers: [{name: a, image: a, volumeMounts: [{name: missing, mountPath: /x}]}]}}}")
				s.awaitStalled(v1.ReasonInvalidPod, "volumeMounts")
			},
			want:    "Failed",
			message: "Not found",
		},
	})
}

func TestKstatusTerminating(t *testing.T) {
	testKstatus(t, map[string]kstatusState{
		"deleting": {
			reach: func(s *space) {
				s.apply("web", s.held("replicas: 2, scaleDown: {maxTerminating: 2}"))
				s.awaitReady("web", 2)
				s.Kubectl("delete", "pm", "web", "--wait=false")
				s.Await("the pods to be going", func() (any, bool) { going := s.terminating(); return going, len(going) == 2 })
			},
			want:    "Terminating",
			message: "scheduled for deletion",
		},
	})
}
