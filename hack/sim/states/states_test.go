package states

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The images, as in hack/test/core.
const (
	good       = "app:1"
	better     = "app:2"
	missing    = "app" + tagMissing
	neverReady = "app" + tagNeverReady
)

// space is a cluster with the PodManager web.
type space struct {
	t       *testing.T
	ctx     context.Context
	server  *apiserver.Server
	kube    kubernetes.Interface
	objects dynamic.ResourceInterface
	stop    func() // stops the controller

	holdsPods, hostPort atomic.Bool // whether terminating pods stay, and whether the port of the host is taken
}

func newSpace(ctx context.Context, t *testing.T, server *apiserver.Server) (*space, error) {
	config := configOf(server, "test")
	kube, err1 := kubernetes.NewForConfig(config)
	objects, err2 := dynamic.NewForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	resource := v1.GroupVersionKind.GroupVersion().WithResource("podmanagers")
	return &space{t: t, ctx: ctx, server: server, kube: kube, objects: objects.Resource(resource).Namespace(namespace)}, nil
}

// apply creates web with a spec, or merges the spec into the present one.
func (s *space) apply(format string, args ...any) {
	s.t.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, strings.ReplaceAll(format, "\t", ""), args...), &spec); err != nil {
		s.t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(v1.GroupVersionKind)
	object.SetName("web")
	if _, err := s.objects.Get(s.ctx, "web", metav1.GetOptions{}); err != nil {
		_, err = s.objects.Create(s.ctx, object, metav1.CreateOptions{})
		s.check(err)
		return
	}
	patch, err := object.MarshalJSON()
	s.check(err)
	_, err = s.objects.Patch(s.ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{})
	s.check(err)
}

func (s *space) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// await lets time pass until a condition of web has a status and a reason, and the controller has nothing more to write.
func (s *space) await(kind string, status metav1.ConditionStatus, reason string) {
	s.t.Helper()
	var last *unstructured.Unstructured
	for range 1000 {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		object, err := s.objects.Get(s.ctx, "web", metav1.GetOptions{})
		s.check(err)
		condition := s.condition(object, kind)
		isCalm := last != nil && last.GetResourceVersion() == object.GetResourceVersion()
		if isCalm && condition["status"] == string(status) && condition["reason"] == reason {
			return
		}
		last = object
	}
	s.t.Fatalf("%s does not become %s with the reason %s: %v", kind, status, reason, last.Object["status"])
}

// condition returns a condition of an object. The object need not fit the Go type of a PodManager.
func (s *space) condition(object *unstructured.Unstructured, kind string) map[string]any {
	s.t.Helper()
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	s.check(err)
	for _, condition := range conditions {
		if fields := condition.(map[string]any); fields["type"] == kind {
			return fields
		}
	}
	return nil
}

func (s *space) awaitReady(reason string) {
	s.t.Helper()
	s.await(v1.ConditionReady, metav1.ConditionTrue, reason)
}

func (s *space) awaitUnready(reason string) {
	s.t.Helper()
	s.await(v1.ConditionReady, metav1.ConditionFalse, reason)
}

func (s *space) awaitStalled(reason string) {
	s.t.Helper()
	s.await(v1.ConditionStalled, metav1.ConditionTrue, reason)
}

// roll applies a spec with a good image and, once its pods run, with another one.
func (s *space) roll(spec, image string) {
	s.t.Helper()
	s.apply(spec, good)
	s.awaitReady(v1.ReasonAllAvailable)
	s.apply(spec, image)
}

// judged are the states that hack/test/core asks kstatus about, under the same names.
var judged = map[string]func(s *space){
	"not seen by a controller": func(s *space) { s.stop(); s.apply("{replicas: 2, image: nginx}") },
	"ready":                    func(s *space) { s.apply("{replicas: 2, image: nginx}"); s.awaitReady(v1.ReasonAllAvailable) },
	"creating": func(s *space) {
		s.apply("{replicas: 2, image: '%s'}", neverReady)
		s.awaitUnready(v1.ReasonPodsNotReady)
	},
	"scaling": func(s *space) {
		const single = "{replicas: %d, template: {spec: {containers: [{name: a, image: a, ports: [{containerPort: 80, hostPort: 18080}]}]}}}"
		s.apply(single, 1)
		s.awaitReady(v1.ReasonAllAvailable)
		s.apply(single, 2)
		s.awaitUnready(v1.ReasonPodsNotReady)
	},
	"rolling": func(s *space) {
		s.roll("{replicas: 2, image: '%s'}", neverReady)
		s.awaitUnready(v1.ReasonRollingOut)
	},
	"paused with a change waiting": func(s *space) {
		s.apply("{replicas: 2, image: '%s'}", good)
		s.awaitReady(v1.ReasonAllAvailable)
		s.apply("{paused: true, image: '%s'}", better)
		s.awaitUnready(v1.ReasonPaused)
	},
	"halted a moment ago": func(s *space) {
		s.roll("{replicas: 2, failurePolicy: {gracePeriodSeconds: 599}, image: '%s'}", missing)
		s.awaitUnready(v1.ReasonHalted)
	},
	"one pod crash-looping outside a rollout": func(s *space) {
		s.apply("{replicas: 2, image: '%s'}", good)
		s.awaitReady(v1.ReasonAllAvailable)
		s.crash("web-1")
		s.awaitUnready(v1.ReasonPodsNotReady)
	},
	"partition reached": func(s *space) {
		s.roll("{replicas: 2, updateStrategy: {rollingUpdate: {partition: 1}}, image: '%s'}", better)
		s.awaitReady(v1.ReasonPartition)
	},
	"outdated pods, to be deleted by somebody": func(s *space) {
		s.roll("{replicas: 2, updateStrategy: {type: OnDelete}, image: '%s'}", better)
		s.awaitReady(v1.ReasonUpdateOnDelete)
	},
	"zero replicas": func(s *space) { s.apply("{replicas: 0, image: nginx}"); s.awaitReady(v1.ReasonScaledToZero) },
	"updated":       func(s *space) { s.roll("{replicas: 2, image: '%s'}", better); s.awaitReady(v1.ReasonAllAvailable) },
	"halted": func(s *space) {
		s.roll("{replicas: 2, failurePolicy: {gracePeriodSeconds: 1}, image: '%s'}", missing)
		s.awaitStalled(v1.ReasonHalted)
	},
	"rolled back": func(s *space) {
		s.roll("{replicas: 2, failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}, image: '%s'}", missing)
		s.awaitStalled(v1.ReasonRolledBack)
	},
	"deadline exceeded": func(s *space) {
		s.roll("{replicas: 2, progressDeadlineSeconds: 31, image: '%s'}", neverReady)
		s.awaitStalled(v1.ReasonDeadline)
	},
	"in place impossible": func(s *space) {
		const containers = "[{name: a, image: a, env: [{name: E, value: '%s'}]}]"
		s.roll("{replicas: 2, updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}, template: {spec: {containers: "+containers+"}}}", "b")
		s.awaitStalled(v1.ReasonNotInPlace)
	},
	"quota refused": func(s *space) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		_, err := s.kube.CoreV1().ResourceQuotas(namespace).Create(s.ctx, quota, metav1.CreateOptions{})
		s.check(err)
		s.apply("{replicas: 2, image: nginx}")
		s.awaitStalled(v1.ReasonForbidden)
	},
	"invalid pod": func(s *space) {
		s.apply("{replicas: 2, template: {spec: {containers: [{name: a, image: a, volumeMounts: [{name: missing, mountPath: /x}]}]}}}")
		s.awaitStalled(v1.ReasonInvalidPod)
	},
	"deleting": func(s *space) {
		s.apply("{replicas: 2, scaleDown: {maxTerminating: 2}, image: nginx}")
		s.awaitReady(v1.ReasonAllAvailable)
		s.holdsPods.Store(true)
		s.check(s.objects.Delete(s.ctx, "web", metav1.DeleteOptions{}))
		s.awaitUnready(v1.ReasonTerminating)
	},
}

// further are states that kstatus cannot distinguish from one of those in judged. Other tools may distinguish them.
var further = map[string]func(s *space){
	"edited since": func(s *space) {
		judged["halted"](s)
		s.stop()
		s.apply("{image: '%s'}", better)
	},
	"baking": func(s *space) {
		s.roll("{replicas: 2, failurePolicy: {bakeSeconds: 605}, image: '%s'}", better)
		s.awaitReady(v1.ReasonBaking)
	},
	"paused and up to date": func(s *space) {
		judged["ready"](s)
		s.apply("{paused: true}")
		s.awaitReady(v1.ReasonAllAvailable)
	},
	"paused from the start": func(s *space) { s.apply("{replicas: 2, paused: true, image: nginx}"); s.awaitUnready(v1.ReasonPaused) },
	"misconfigured": func(s *space) {
		s.apply("{replicas: 2, failurePolicy: {failureThreshold: 2}, image: nginx}")
		s.await(v1.ConditionMisconfigured, metav1.ConditionTrue, v1.ReasonUnreachable)
	},
	"undecodable": func(s *space) {
		s.apply("{replicas: 2, template: {spec: {containers: [{name: a, image: a, resources: {limits: {cpu: 1e1.5}}}]}}}")
		s.awaitStalled(v1.ReasonUndecodable)
	},
	"with a template": func(s *space) {
		s.apply(`
			replicas: 2
			restartAt: 2100-01-01T00:00:00Z
			template:
			  metadata: {labels: {app: shop}}
			  spec:
			    serviceAccountName: shop
			    nodeSelector: {disk: ssd}
			    imagePullSecrets: [{name: registry}]
			    containers:
			    - name: app
			      image: app:1
			      envFrom: [{configMapRef: {name: settings}}]
			      resources: {requests: {cpu: 250m, memory: 64Mi}}
			      volumeMounts: [{name: cache, mountPath: /cache}, {name: data, mountPath: /data}]
			    - name: log
			      image: log:1
			      resources: {requests: {cpu: 50m}}
			    volumes:
			    - {name: cache, emptyDir: {}}
			    - {name: data, persistentVolumeClaim: {claimName: data}}
			`)
		s.awaitReady(v1.ReasonAllAvailable)
	},
}

// crash sets the status of a pod whose container is in a crash loop.
func (s *space) crash(name string) {
	s.t.Helper()
	pods := s.kube.CoreV1().Pods(namespace)
	pod, err := pods.Get(s.ctx, name, metav1.GetOptions{})
	s.check(err)
	status := &pod.Status.ContainerStatuses[0]
	status.Ready, status.RestartCount = false, 4
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	_, err = pods.UpdateStatus(s.ctx, pod, metav1.UpdateOptions{})
	s.check(err)
}
