//go:build e2e

package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// state is a state in which a PodManager remains until the test ends it.
type state struct {
	// begin leads from nothing to the state, end leads out of it.
	begin, end []step
	// restarts is how often each container has been restarted at the end, if the pods have to be the same; otherwise nil.
	restarts *int32
}

// step is a change of a PodManager.
type step struct {
	// spec is the change of the spec, in YAML's flow style. do is any other change, and is repeated until the step is done.
	spec string
	do   func(ctx context.Context, s *subject, pods []*corev1.Pod) error
	// done reports whether the PodManager has arrived. A deleted PodManager is nil.
	done func(v view) bool
}

// The simulated nodes run the first two images, and cannot pull the third.
const (
	good    = "app:1"
	better  = "app:2"
	unknown = "app:does-not-exist"
)

// Names that both versions use in stored objects. They are not taken from today's constants, which a change might rename.
const (
	finalizer   = "apps.mycompany.com/podmanager"
	inPlaceGate = "apps.mycompany.com/in-place-ready"
)

// goGate is a readiness gate that only the test opens. It holds a rollout for as long as the test wants.
const goGate = "example.com/go"

// holder is a finalizer of pods that only the test removes.
const holder = "example.com/hold"

const (
	plain   = "{replicas: 2, image: 'app:1', failurePolicy: {gracePeriodSeconds: 0}}"
	gated   = "{replicas: 2, failurePolicy: {gracePeriodSeconds: 0}, " + surge + ", template: {spec: {readinessGates: [{conditionType: " + goGate + "}], containers: [{name: app, image: 'app:1'}]}}}"
	surge   = "updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
	noSurge = "updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"
	inPlace = "updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1, podUpdatePolicy: InPlaceOnly%s}}"
	// toBetter updates the image of gated.
	toBetter = "{template: {spec: {containers: [{name: app, image: 'app:2'}]}}}"
)

var states = map[string]state{
	"at-rest": {
		begin: []step{{spec: plain, done: atRest(good)}},
		end:   []step{{spec: "{image: 'app:2'}", done: atRest(better)}},
	},
	"baking": { // Ready, but not yet the current revision
		begin: []step{{spec: plain, done: atRest(good)},
			{spec: "{image: 'app:2', failurePolicy: {gracePeriodSeconds: 500}}", done: isIn(v1.ReasonBaking, images{better: 2})}},
		end: []step{{spec: "{failurePolicy: {gracePeriodSeconds: 0}}", done: atRest(better)}},
	},
	"canary": {
		begin: []step{{spec: plain, done: atRest(good)},
			{spec: "{image: 'app:2', updateStrategy: {rollingUpdate: {partition: 1}}}", done: isIn(v1.ReasonPartition, images{good: 1, better: 1})}},
		end: []step{{spec: "{updateStrategy: {rollingUpdate: {partition: 0}}}", done: atRest(better)}},
	},
	"rolling-out": {
		begin: []step{{spec: gated, do: openGates, done: atRest(good)},
			{spec: toBetter, done: isIn(v1.ReasonRollingOut, images{good: 2, better: 1})}},
		end: []step{{do: openGates, done: atRest(better)}},
	},
	"paused": {
		begin: []step{{spec: plain, done: atRest(good)},
			{spec: "{image: 'app:2', paused: true}", done: isIn(v1.ReasonPaused, images{good: 2})}},
		end: []step{{spec: "{paused: false}", done: atRest(better)}},
	},
	"paused-midway": {
		begin: []step{{spec: gated, do: openGates, done: atRest(good)},
			{spec: toBetter, done: isIn(v1.ReasonRollingOut, images{good: 2, better: 1})},
			{spec: "{paused: true}", done: isIn(v1.ReasonPaused, images{good: 2, better: 1})}},
		end: []step{{spec: "{paused: false}", do: openGates, done: atRest(better)}},
	},
	"halted": { // permanently
		begin: []step{{spec: plain, done: atRest(good)},
			{spec: "{image: '" + unknown + "', failurePolicy: {gracePeriodSeconds: 1}, " + noSurge + "}", done: all(halted, hasCondition(v1.ConditionStalled))}},
		end: []step{{spec: "{image: 'app:2'}", done: atRest(better)}},
	},
	"failing": { // halted, and to be rolled back when the pods' time to recover is over
		begin: []step{{spec: plain, done: atRest(good)},
			{spec: "{image: '" + unknown + "', failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 500}, " + noSurge + "}", done: halted}},
		end: []step{{spec: "{failurePolicy: {gracePeriodSeconds: 1}}", done: rolledBack}},
	},
	"rolled-back": {
		begin: []step{{spec: plain, done: atRest(good)},
			{spec: "{image: '" + unknown + "', failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}, " + noSurge + "}", done: rolledBack}},
		end: []step{{spec: "{image: 'app:2'}", done: atRest(better)}},
	},
	"draining": { // in place: a pod is out of service, and about to be changed
		begin: []step{{spec: "{replicas: 2, image: 'app:1', failurePolicy: {gracePeriodSeconds: 0}, " + fmt.Sprintf(inPlace, ", inPlaceGracePeriodSeconds: 500") + "}", done: all(atRest(good), hasFinalizer)},
			{spec: "{image: 'app:2'}", done: all(isIn(v1.ReasonRollingOut, images{good: 2}), outOfService)}},
		end:      []step{{spec: "{updateStrategy: {rollingUpdate: {inPlaceGracePeriodSeconds: 0}}}", done: atRest(better)}},
		restarts: new(int32(1)),
	},
	"resizing": { // in place: a pod is changed, but its kubelet has not carried that out yet
		begin: []step{{spec: "{replicas: 2, failurePolicy: {gracePeriodSeconds: 0}, " + fmt.Sprintf(inPlace, "") + ", template: {metadata: {annotations: {" + roomless + ": deferred}}, spec: " + sized("100m") + "}}", done: atRest(good)},
			{spec: "{template: {spec: " + sized("900m") + "}}", done: all(isIn(v1.ReasonRollingOut, images{good: 2}), says("resize deferred"))}},
		end:      []step{{do: makeRoom, done: all(atRest(good), hasCPU("900m"))}},
		restarts: new(int32(0)),
	},
	"paced": {
		begin: []step{{spec: "{replicas: 2, image: 'app:1', failurePolicy: {gracePeriodSeconds: 0}, scaleDown: {maxTerminating: 1}}", done: all(atRest(good), hasFinalizer)}},
		end:   []step{{do: remove, done: gone}},
	},
	"leaving": { // deleted, with pods that terminate one by one
		begin: []step{{spec: "{replicas: 2, failurePolicy: {gracePeriodSeconds: 0}, scaleDown: {maxTerminating: 1}, template: {metadata: {finalizers: [" + holder + "]}, spec: {containers: [{name: app, image: 'app:1'}]}}}", done: all(atRest(good), hasFinalizer)},
			{do: remove, done: all(isIn(v1.ReasonTerminating, images{good: 2}), oneIsTerminating)}},
		end: []step{{do: releasePods, done: gone}},
	},
}

const roomless = "simulate.podmanager/resize"

func sized(cpu string) string {
	return "{containers: [{name: app, image: 'app:1', resources: {requests: {cpu: " + cpu + "}}}]}"
}

// images are numbers of pods by image, including terminating ones.
type images map[string]int

// isIn returns a function that reports whether the condition Ready has a reason, and exactly these pods exist.
func isIn(reason string, want images) func(view) bool {
	return func(v view) bool {
		got := images{}
		for _, pod := range v.pods {
			got[pod.Spec.Containers[0].Image]++
		}
		return v.manager != nil && v.manager.Status.ObservedGeneration == v.manager.Generation &&
			harness.ConditionOf(v.manager, v1.ConditionReady).Reason == reason && maps.Equal(got, want)
	}
}

// atRest returns a function that reports whether both pods have an image, and the status reports a completed rollout.
func atRest(image string) func(view) bool {
	return all(isIn(v1.ReasonAllAvailable, images{image: 2}), func(v view) bool {
		status := v.manager.Status
		return status.AvailableReplicas == 2 && status.UpdatedReplicas == 2 && status.CurrentRevision == status.UpdateRevision &&
			status.FailedRevision == "" && status.Rollout == nil && !hasCondition(v1.ConditionStalled)(v)
	})
}

var (
	halted     = all(isIn(v1.ReasonHalted, images{good: 1, unknown: 1}), says("ImagePullBackOff"))
	rolledBack = all(isIn(v1.ReasonRolledBack, images{good: 2}), hasCondition(v1.ConditionStalled), func(v view) bool {
		status := v.manager.Status
		return status.AvailableReplicas == 2 && status.FailedRevision == status.UpdateRevision && status.CurrentRevision != status.UpdateRevision
	})
)

func all(conditions ...func(view) bool) func(view) bool {
	return func(v view) bool {
		return !slices.ContainsFunc(conditions, func(holds func(view) bool) bool { return !holds(v) })
	}
}

func hasCondition(kind string) func(view) bool {
	return func(v view) bool { return harness.ConditionOf(v.manager, kind).Type != "" }
}

// says returns a function that reports whether the message of the condition Ready contains the words.
func says(words string) func(view) bool {
	return func(v view) bool {
		return strings.Contains(harness.ConditionOf(v.manager, v1.ConditionReady).Message, words)
	}
}

func hasFinalizer(v view) bool { return slices.Contains(v.manager.Finalizers, finalizer) }

func gone(v view) bool { return v.manager == nil && len(v.pods) == 0 }

// outOfService reports whether one pod's gate is closed and its node has seen that.
func outOfService(v view) bool {
	closed := 0
	for _, pod := range v.pods {
		if conditionOf(pod, inPlaceGate) == corev1.ConditionFalse && conditionOf(pod, corev1.PodReady) == corev1.ConditionFalse {
			closed++
		}
	}
	return closed == 1 && v.manager.Status.ReadyReplicas == 1
}

func oneIsTerminating(v view) bool {
	terminating := 0
	for _, pod := range v.pods {
		if pod.DeletionTimestamp != nil {
			terminating++
		}
	}
	return terminating == 1 && v.manager.Status.TerminatingReplicas == 1
}

// hasCPU reports whether all containers have been given this much CPU.
func hasCPU(amount string) func(view) bool {
	return func(v view) bool {
		return !slices.ContainsFunc(v.pods, func(pod *corev1.Pod) bool {
			status := pod.Status.ContainerStatuses[0]
			return status.Resources == nil || status.Resources.Requests.Cpu().String() != amount
		})
	}
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}
