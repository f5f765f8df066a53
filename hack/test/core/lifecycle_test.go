//go:build e2e

package core

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestCreate(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{image: 'nginx:1.29'}")
	manager := s.awaitReady("web", 3)

	pods := s.Pods()
	if got, want := podNames(pods), []string{"web-0", "web-1", "web-2"}; !slices.Equal(got, want) {
		t.Errorf("pods %v, want %v", got, want)
	}
	for _, pod := range pods {
		if c := pod.Spec.Containers; len(c) != 1 || c[0].Name != "app" || c[0].Image != "nginx:1.29" {
			t.Errorf("%s runs %v", pod.Name, c)
		}
		if !metav1.IsControlledBy(&pod, manager) {
			t.Errorf("%s is not controlled by the PodManager: %v", pod.Name, pod.OwnerReferences)
		}
	}
	if len(manager.Finalizers) > 0 {
		t.Errorf("finalizers %v, although nothing has to happen before the PodManager is deleted", manager.Finalizers)
	}
	s.Await("an event about the three pods", func() (any, bool) {
		events := s.Kubectl("get", "events", "-o", "custom-columns=R:.reason,N:.message", "--field-selector", "involvedObject.kind=PodManager")
		return events, strings.Contains(events, "PodCreated") && strings.Contains(events, "Created 3 pods: web-0, web-1, web-2")
	})
	if table := s.Kubectl("get", "pm"); !regexp.MustCompile(`^NAME +DESIRED +CURRENT +UPDATED +READY +AVAILABLE +REASON +AGE\nweb +3 +3 +3 +3 +3 +AllReplicasAvailable +\d+s\n$`).MatchString(table) {
		t.Errorf("kubectl get pm:\n%s", table)
	}
	wide := s.Kubectl("get", "pm", "-o", "wide")
	for _, want := range []string{`REASON +AGE +IMAGE +REVISION +MESSAGE\n`, `nginx:1\.29 +` + manager.Status.UpdateRevision + " +3 of 3 pods available\n$"} {
		if !regexp.MustCompile(want).MatchString(wide) {
			t.Errorf("kubectl get pm -o wide does not show %q:\n%s", want, wide)
		}
	}
	if all := s.Kubectl("get", "all"); !strings.Contains(all, "podmanager.apps.mycompany.com/web") {
		t.Errorf("kubectl get all does not show the PodManager:\n%s", all)
	}
}

func TestTemplateIsKeptWhole(t *testing.T) {
	s := newSpace(t)
	s.apply("web", `{replicas: 1, template: {
		metadata: {labels: {app: shop, tier: front}, annotations: {note: "kept"}},
		spec: {terminationGracePeriodSeconds: 7, containers: [
			{name: main, image: busybox, command: [sleep, "3600"], ports: [{containerPort: 80}], env: [{name: A, value: b}]},
			{name: side, image: "nginx:1.29", resources: {requests: {cpu: 10m}}}]}}}`)
	s.awaitReady("web", 1)
	pod := s.Pods()[0]
	if pod.Labels["app"] != "shop" || pod.Labels["tier"] != "front" || pod.Annotations["note"] != "kept" {
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	}
	for key, want := range map[string]string{
		v1.LabelManager: "web", v1.LabelManagerUID: string(s.Manager("web").UID), v1.LabelPodIndex: "0",
	} {
		if pod.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, pod.Labels[key], want)
		}
	}
	if pod.Labels[v1.LabelRevision] == "" || *pod.Spec.TerminationGracePeriodSeconds != 7 || len(pod.Spec.Containers) != 2 ||
		pod.Spec.Containers[0].Command[0] != "sleep" || pod.Spec.Containers[1].Resources.Requests.Cpu().String() != "10m" {
		t.Errorf("the template was not kept: %+v", pod.Spec)
	}
}

func TestScale(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: nginx}")
	s.awaitReady("web", 2)
	before := uids(s.Pods())

	s.apply("web", "{replicas: 6, image: nginx}")
	s.awaitReady("web", 6)
	after := uids(s.Pods())
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("scaling up has replaced %s", name)
		}
	}
	s.Kubectl("scale", "pm/web", "--replicas=3")
	s.awaitReady("web", 3)
	for name, uid := range uids(s.Pods()) {
		if after[name] != uid {
			t.Errorf("scaling down has replaced %s", name)
		}
	}
	s.Kubectl("scale", "pm/web", "--replicas=0")
	s.awaitReady("web", 0)
	if left := s.AllPods(); len(left) != 0 {
		t.Errorf("pods are left: %v", podNames(left))
	}
	s.Kubectl("scale", "pm/web", "--replicas=1")
	s.awaitReady("web", 1)
	if got := podNames(s.Pods()); !slices.Equal(got, []string{"web-0"}) {
		t.Errorf("pods %v, want the lowest index", got)
	}
}

func TestScaleSubresource(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: nginx}")
	s.awaitReady("web", 2)
	client := shared.managers.AppsV1().PodManagers(s.Name)
	scale, err := client.GetScale(s.Ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := autoscalingv1.ScaleStatus{Replicas: 2, Selector: "podmanager=web"}
	if scale.Status != want {
		t.Errorf("scale %+v, want %+v", scale.Status, want)
	}
	selected, err := shared.kube.CoreV1().Pods(s.Name).List(s.Ctx, metav1.ListOptions{LabelSelector: scale.Status.Selector})
	if err != nil || len(selected.Items) != 2 {
		t.Errorf("the selector finds %d pods (%v), want 2", len(selected.Items), err)
	}
	scale.Spec.Replicas = 4
	if _, err := client.UpdateScale(s.Ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitReady("web", 4)
}

func TestManySmallOnes(t *testing.T) {
	s := newSpace(t)
	for i := range 20 {
		s.apply(fmt.Sprintf("web-%d", i), "{replicas: 2, image: nginx}")
	}
	for i := range 20 {
		s.awaitReady(fmt.Sprintf("web-%d", i), 2)
	}
	if got := len(s.Pods()); got != 40 {
		t.Errorf("%d pods, want 40", got)
	}
}

func TestHeal(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *space, pod string){
		"deleted": func(s *space, pod string) { s.Kubectl("delete", "pod", pod, "--wait=false") },
		"force-deleted": func(s *space, pod string) {
			s.Kubectl("delete", "pod", pod, "--grace-period=0", "--force")
		},
		"evicted through the API": func(s *space, pod string) {
			if out, err := s.TryKubectl(fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q}}`, pod),
				"create", "--raw", "/api/v1/namespaces/"+s.Name+"/pods/"+pod+"/eviction", "-f", "-"); err != nil {
				s.T.Fatalf("evicting: %v %s", err, out)
			}
		},
		"evicted by its node": func(s *space, pod string) {
			s.setPodStatus(pod, `{"phase":"Failed","reason":"Evicted","message":"The node was low on memory","conditions":[{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet"}]}`)
		},
		"failed":    func(s *space, pod string) { s.setPodStatus(pod, `{"phase":"Failed"}`) },
		"succeeded": func(s *space, pod string) { s.setPodStatus(pod, `{"phase":"Succeeded"}`) },
	}
	for name, hurt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", "{replicas: 3, image: nginx}")
			s.awaitReady("web", 3)
			before := uids(s.Pods())
			hurt(s, "web-1")
			s.Await("the pod to be replaced", func() (any, bool) {
				now := uids(s.Pods())
				replaced := !slices.Contains(slices.Collect(maps.Values(now)), before["web-1"])
				return now, replaced && len(now) == 3
			})
			s.awaitReady("web", 3)
			after := uids(s.Pods())
			if after["web-0"] != before["web-0"] || after["web-2"] != before["web-2"] {
				t.Errorf("healthy pods were replaced: before %v, after %v", before, after)
			}
		})
	}
}

func TestMinReadySeconds(t *testing.T) {
	s := newSpace(t)
	minReady := harness.Scaled(5 * time.Second).Round(time.Second) // long enough to be observed
	s.apply("web", fmt.Sprintf("{replicas: 1, image: nginx, minReadySeconds: %.0f}", minReady.Seconds()))
	s.Await("the pod to be ready and not yet available", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.ReadyReplicas == 1 && manager.Status.AvailableReplicas == 0 && !harness.IsReady(manager)
	})
	if got := s.Condition("web", v1.ConditionReady); got.Reason != v1.ReasonMinReady {
		t.Errorf("Ready is %+v", got)
	}
	manager := s.awaitReady("web", 1)
	ready := readySince(&s.Pods()[0])
	if at := ready.Add(minReady); metav1.Now().Time.Before(at) {
		t.Errorf("available before %v: %s", at, harness.Brief(manager))
	}
}

func readySince(pod *corev1.Pod) metav1.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime
		}
	}
	return metav1.Time{}
}

// kubectl wait returns when, and only when, the PodManager is Ready.
func TestWaitForReady(t *testing.T) {
	s := newSpace(t)
	// A pod that cannot be scheduled never becomes ready.
	s.apply("web", "{replicas: 1, template: {spec: {nodeSelector: {nowhere: ''}, containers: [{name: a, image: a}]}}}")
	s.Await("the pod to be pending for a reason", func() (any, bool) {
		message := s.Condition("web", v1.ConditionReady).Message
		return message, strings.Contains(message, "web-0: Unschedulable: 0/") // other tests add nodes
	})
	if out, err := s.TryKubectl("", "wait", "--for=condition=Ready", "--timeout=2s", "pm/web"); err == nil {
		t.Errorf("kubectl wait returned although nothing is ready: %s", out)
	}
	s.Kubectl("delete", "pm", "web")
	s.apply("web", "{replicas: 3, image: nginx}")
	s.Kubectl("wait", "--for=condition=Ready", "--timeout=3m", "pm/web")
	if manager := s.Manager("web"); manager.Status.AvailableReplicas != 3 {
		t.Errorf("kubectl wait returned too soon: %s", harness.Brief(manager))
	}
}

// A pod that stops being ready shows in the status at once, with its container and reason.
func TestStatusTellsTheTrouble(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: nginx}")
	s.awaitReady("web", 2)
	s.setPodStatus("web-1", `{"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"app","image":"nginx","imageID":"","ready":false,
		"restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`)
	s.Await("Ready to name the pod, the container and the reason", func() (any, bool) {
		ready := s.Condition("web", v1.ConditionReady)
		return ready, ready.Status == metav1.ConditionFalse && ready.Reason == v1.ReasonPodsNotReady &&
			ready.Message == "1 of 2 pods ready; web-1: container app: CrashLoopBackOff: OOMKilled, exit code 137"
	})
	manager := s.Manager("web")
	if manager.Status.ReadyReplicas != 1 || manager.Status.AvailableReplicas != 1 || manager.Status.Replicas != 2 {
		t.Errorf("counts are wrong: %s", harness.Brief(manager))
	}
	if stalled := s.Condition("web", v1.ConditionStalled); stalled.Type != "" {
		t.Errorf("a crashing pod is not a stalled PodManager: %+v", stalled)
	}
}

// With OnDelete, only new pods get a changed template. Old pods that serve count as available, and the PodManager is Ready. The status reports how
// many old pods there are, and reports the new revision as current only when none are left.
func TestOnDelete(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, updateStrategy: {type: OnDelete}, image: 'nginx:1'}")
	s.awaitReady("web", 2)
	s.awaitCurrent()
	before, first := uids(s.Pods()), s.Manager("web").Status.CurrentRevision
	s.apply("web", "{replicas: 2, updateStrategy: {type: OnDelete}, image: 'nginx:2'}")
	const still = " 2 available: Ready=True/UpdateOnDelete Available=True/EnoughReplicas Progressing=False/Complete"
	s.awaitState("web", "2 pods, 2 current, 0 updated,"+still)
	s.Kubectl("wait", "--for=condition=Ready", "--timeout=3m", "pm/web")
	deleteOther := func() { s.deletePod(podNames(s.Pods())[1]) } // web-0 is the first pod
	deleteOther()
	manager := s.awaitState("web", "2 pods, 1 current, 1 updated,"+still)
	const told = "2 of 2 pods available; 1 outdated; when one is deleted, its replacement has the new template"
	if got := s.Condition("web", v1.ConditionReady).Message; got != told {
		t.Errorf("Ready says %q, want %q", got, told)
	}
	if manager.Status.CurrentRevision != first {
		t.Errorf("a revision that not all pods have is current: %s", harness.Brief(manager))
	}
	if now := uids(s.Pods()); now["web-0"] != before["web-0"] {
		t.Errorf("web-0 was replaced: %v, before %v", now, before)
	}

	// If a new pod does not become ready, the PodManager is not Ready.
	s.apply("web", "{replicas: 2, updateStrategy: {type: OnDelete}, image: '"+neverReady+"'}")
	s.awaitState("web", "2 pods, 1 current, 0 updated,"+still)
	deleteOther()
	s.awaitState("web", "2 pods, 1 current, 1 updated, 1 available: Ready=False/PodsNotReady Available=False/NotEnoughReplicas Progressing=True/WaitingForPods")
	s.apply("web", "{replicas: 2, updateStrategy: {type: OnDelete}, image: 'nginx:2'}")
	s.Kubectl("delete", "pods", "-l", "podmanager=web")
	manager = s.awaitReady("web", 2)
	if manager.Status.CurrentRevision == first || manager.Status.CurrentRevision != manager.Status.UpdateRevision {
		t.Errorf("the revision that all pods have is not current: %s", harness.Brief(manager))
	}
	for _, pod := range s.Pods() {
		if pod.Spec.Containers[0].Image != "nginx:2" {
			t.Errorf("%s runs %s", pod.Name, pod.Spec.Containers[0].Image)
		}
	}
}
