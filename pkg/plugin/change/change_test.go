package change_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/change"
)

// opsOf returns the operations of a patch without the tests at its start.
func opsOf(t *testing.T, c Change, m *v1.PodManager) string {
	t.Helper()
	if c.IsEmpty() {
		return ""
	}
	data, err := c.Patch(m)
	if err != nil {
		t.Fatal(err)
	}
	tests, rest, found := strings.Cut(string(data), `"path":"/metadata/generation","value":7},`)
	if !found || !strings.Contains(tests, `{"op":"test","path":"/metadata/uid","value":"uid-web"}`) {
		t.Fatalf("the patch does not test the UID and the generation: %s", data)
	}
	return "[" + rest
}

func TestVerbs(t *testing.T) {
	restartAt := func(at time.Time) func(*v1.PodManager) {
		return func(m *v1.PodManager) { m.Spec.RestartAt = &metav1.Time{Time: at} }
	}
	rolledBack := func(m *v1.PodManager) {
		m.Status = v1.PodManagerStatus{ObservedGeneration: 7, UpdateRevision: "web-2", FailedRevision: "web-2"}
	}
	refused := func(m *v1.PodManager) {
		m.Status = v1.PodManagerStatus{ObservedGeneration: 7, Conditions: []metav1.Condition{
			{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden},
			{Type: v1.ConditionReplicaFailure, Status: metav1.ConditionTrue, Reason: v1.ReasonFailedCreate},
		}}
	}
	halted := func(m *v1.PodManager) {
		m.Status = v1.PodManagerStatus{ObservedGeneration: 7, UpdateRevision: "web-2", Conditions: []metav1.Condition{
			{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonHalted},
		}}
	}
	onlyInPlace := InPlace(v1.InPlaceOnly, 0)
	const later = "; to leave it later, run 'kubectl pm undo web -n ns': kubectl apply of an old manifest keeps spec.restartAt, and so replaces all pods"
	const failed = "the template of web has been rolled back, has halted or has missed its deadline, and a restart would roll it out again; " +
		"run 'kubectl pm set image web CONTAINER=IMAGE -n ns' or 'kubectl pm undo web -n ns' to leave it, or 'kubectl pm retry web -n ns' to try it again"
	type verb = func(*v1.PodManager, time.Time) (Change, error)
	tests := map[string]struct {
		verb    verb
		manager *v1.PodManager
		want    string
		said    string
		err     string
	}{
		"restart": {Restart, Manager(3), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`, "restarted", ""},
		"restart twice in a second": {Restart, Manager(3, restartAt(Now)), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:06Z"}]`,
			"restarted", ""},
		"restart while paused": {Restart, Manager(3, Paused), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`,
			"restarted (it is paused; the pods are replaced once it is resumed)", ""},
		"restart with OnDelete": {Restart, Manager(3, Strategy(v1.OnDeleteStrategy)), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`,
			"restarted (its update strategy is OnDelete: a pod is replaced when you delete it)", ""},
		"restart with OnDelete, paused": {Restart, Manager(3, Strategy(v1.OnDeleteStrategy), Paused),
			`[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`,
			"restarted (it is paused, and its update strategy is OnDelete: once it is resumed, a pod is replaced when you delete it)", ""},
		"restart what was rolled back": {Restart, Manager(3, rolledBack), "", "", failed},
		"restart what has halted":      {Restart, Manager(3, halted), "", "", failed},
		"restart after a change": {Restart, Manager(3, halted, func(m *v1.PodManager) { m.Status.ObservedGeneration = 6 }),
			`[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`, "restarted", ""},
		"restart in place": {Restart, Manager(3, onlyInPlace), "", "",
			"podUpdatePolicy of web is InPlaceOnly, and a restart needs new pods; to replace a pod, delete it"},
		"retry in place": {Retry, Manager(3, onlyInPlace, rolledBack), "", "",
			"podUpdatePolicy of web is InPlaceOnly, and a retry needs new pods; change the template, of which an annotation is enough, or run 'kubectl pm undo web -n ns'"},
		"retry what halts at the moment": {Retry, Manager(3, halted), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`, "retries web-2" + later, ""},
		"retry what did not fail, with OnDelete": {Retry, Manager(3, Strategy(v1.OnDeleteStrategy), func(m *v1.PodManager) { m.Status.ObservedGeneration = 7 }), "", "",
			"so there is none to retry; to replace a pod, delete it"},
		"retry": {Retry, Manager(3, rolledBack), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`, "retries web-2" + later, ""},
		"retry what has halted": {Retry, Manager(3, func(m *v1.PodManager) {
			m.Status = v1.PodManagerStatus{ObservedGeneration: 7, UpdateRevision: "web-2", Conditions: []metav1.Condition{
				{Type: v1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1.ReasonHalted},
			}}
		}), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`, "retries web-2" + later, ""},
		"retry while paused": {Retry, Manager(3, rolledBack, Paused), `[{"op":"add","path":"/spec/restartAt","value":"2026-01-02T03:04:05Z"}]`,
			"retries web-2 (it is paused; the pods are replaced once it is resumed)" + later, ""},
		"retry what did not fail": {Retry, Manager(3, func(m *v1.PodManager) { m.Status.ObservedGeneration = 7 }), "", "",
			"no revision of web was rolled back, has halted or missed its deadline, so there is none to retry; to replace the pods, run 'kubectl pm restart web -n ns'"},
		"retry what is refused": {Retry, Manager(3, refused), "", "",
			"the API server refuses the pods of web, and the controller tries again by itself, within about a minute; run 'kubectl pm why web -n ns' to see why"},
		"retry too soon":       {Retry, Manager(3), "", "", "has not seen the last change of web yet; run 'kubectl pm status web -n ns' first"},
		"pause":                {Pause, Manager(3), `[{"op":"add","path":"/spec/paused","value":true}]`, "paused (scaling and healing go on)", ""},
		"pause what is paused": {Pause, Manager(3, Paused), "", "is paused already", ""},
		"resume":               {Resume, Manager(3, Paused), `[{"op":"remove","path":"/spec/paused"}]`, "resumed", ""},
		"resume what is not":   {Resume, Manager(3), "", "is not paused", ""},
		"promote": {Promote(intstr.FromInt32(0)), Manager(10, Partition("90%")),
			`[{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":0}]`, "promoted: partition 0, was 90%", ""},
		"promote in part": {Promote(intstr.Parse("50%")), Manager(10, Partition("9")),
			`[{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":"50%"}]`, "promoted: partition 50%, was 9", ""},
		"promote what has no partition": {Promote(intstr.FromInt32(0)), Manager(10), "", "has the partition 0 already", ""},
		"promote backwards": {Promote(intstr.FromInt32(5)), Manager(10, Partition("2")), "", "",
			"promote only lowers the partition: 5 is above the present 2; to raise it, edit spec.updateStrategy of web; " +
				"to return to an earlier revision, run 'kubectl pm undo web -n ns'"},
		"promote to a higher percentage of as many pods": {Promote(intstr.Parse("79%")), Manager(5, Partition("60%")), "", "",
			"promote only lowers the partition: 79% is above the present 60%; "},
		"promote to a lower percentage of as many pods": {Promote(intstr.Parse("60%")), Manager(5, Partition("79%")),
			`[{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":"60%"}]`, "promoted: partition 60%, was 79%", ""},
		"promote to a higher number than there are pods": {Promote(intstr.FromInt32(8)), Manager(5, Partition("7")), "", "",
			"promote only lowers the partition: 8 is above the present 7; "},
		"promote to more pods than the percentage": {Promote(intstr.FromInt32(4)), Manager(5, Partition("60%")), "", "",
			"promote only lowers the partition: 4 is above the present 60%; "},
		"promote to as many pods": {Promote(intstr.FromInt32(3)), Manager(5, Partition("79%")), "",
			"has the partition 79% already, and 3 of its 5 pods are as many", ""},
		"promote to a percentage of as many pods": {Promote(intstr.Parse("79%")), Manager(5, Partition("3")), "",
			"has the partition 3 already, and 79% of its 5 pods are as many", ""},
		"promote without replicas": {Promote(intstr.FromInt32(0)), Manager(0, Partition("60%")),
			`[{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":0}]`, "promoted: partition 0, was 60%", ""},
		"promote to a percentage of no pod": {Promote(intstr.Parse("10%")), Manager(5, Partition("0")), "", "", "10% is above the present 0; "},
		"promote to none, in percent":       {Promote(intstr.Parse("0%")), Manager(5, Partition("0")), "", "has the partition 0 already", ""},
		"promote OnDelete":                  {Promote(intstr.FromInt32(0)), Manager(10, Strategy(v1.OnDeleteStrategy)), "", "", "has no partition to lower"},
		"the image": {SetImage(map[string]string{"app": "nginx:2"}, ""), Manager(3), `[{"op":"add","path":"/spec/image","value":"nginx:2"}]`,
			"image updated: nginx:2, was nginx", ""},
		"the image, with OnDelete": {SetImage(map[string]string{"app": "nginx:2"}, ""), Manager(3, Strategy(v1.OnDeleteStrategy)),
			`[{"op":"add","path":"/spec/image","value":"nginx:2"}]`,
			"image updated: nginx:2, was nginx (its update strategy is OnDelete: a pod is replaced when you delete it)", ""},
		"the image, while paused": {SetImage(map[string]string{"app": "nginx:2"}, ""), Manager(3, Paused), `[{"op":"add","path":"/spec/image","value":"nginx:2"}]`,
			"image updated: nginx:2, was nginx (it is paused; outdated pods are updated once it is resumed)", ""},
		"the image, and why": {SetImage(map[string]string{"app": "nginx:2"}, "a try"), Manager(3), `[{"op":"add","path":"/spec/image","value":"nginx:2"},` +
			`{"op":"add","path":"/metadata/annotations","value":{"kubernetes.io/change-cause":"a try"}}]`, "image updated: nginx:2, was nginx", ""},
		"the cause of the old image goes": {SetImage(map[string]string{"app": "nginx:2"}, ""), Manager(3, Because("before")),
			`[{"op":"add","path":"/spec/image","value":"nginx:2"},{"op":"remove","path":"/metadata/annotations/kubernetes.io~1change-cause"}]`,
			"image updated: nginx:2, was nginx", ""},
		"the same image":  {SetImage(map[string]string{"app": "nginx"}, ""), Manager(3), "", "has that image already", ""},
		"the same images": {SetImage(map[string]string{"app": "app:1", "log": "log:1"}, ""), Manager(3, twoContainers), "", "has those images already", ""},
		"the same image, and why": {SetImage(map[string]string{"app": "nginx"}, "a try"), Manager(3, Because("before")),
			`[{"op":"add","path":"/metadata/annotations/kubernetes.io~1change-cause","value":"a try"}]`,
			"has that image already; its change cause is updated: a try", ""},
		"the same image, and the same cause": {SetImage(map[string]string{"app": "nginx"}, "a try"), Manager(3, Because("a try")), "",
			"has that image already", ""},
		"the same image keeps its cause": {SetImage(map[string]string{"app": "nginx"}, ""), Manager(3, Because("a try")), "", "has that image already", ""},
		"of a container that is not":     {SetImage(map[string]string{"web": "nginx:2"}, ""), Manager(3), "", "", "web has no container web; it has app"},
		"in a template": {SetImage(map[string]string{"log": "log:2"}, ""), Manager(3, twoContainers),
			`[{"op":"add","path":"/spec/template/spec/containers/1/image","value":"log:2"}]`, "image updated: log:2, was log:1", ""},
		"of all containers": {SetImage(map[string]string{"*": "x:1"}, ""), Manager(3, twoContainers),
			`[{"op":"add","path":"/spec/template/spec/initContainers/0/image","value":"x:1"},` +
				`{"op":"add","path":"/spec/template/spec/containers/0/image","value":"x:1"},{"op":"add","path":"/spec/template/spec/containers/1/image","value":"x:1"}]`,
			"image updated: x:1, was init:1; x:1, was app:1; x:1, was log:1", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.verb(test.manager, Now)
			if ops := opsOf(t, got, test.manager); ops != test.want || got.Said != test.said {
				t.Errorf("got %s\n%s", ops, got.Said)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

func twoContainers(m *v1.PodManager) {
	m.Spec.Image = ""
	m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init", Image: "init:1"}},
		Containers:     []corev1.Container{{Name: "app", Image: "app:1"}, {Name: "log", Image: "log:1"}},
	}}
}

func TestBecause(t *testing.T) {
	c, err := Pause(Manager(3), Now)
	if err != nil {
		t.Fatal(err)
	}
	first := opsOf(t, c.Because(Manager(3), "a try"), Manager(3))
	if want := `{"op":"add","path":"/metadata/annotations","value":{"kubernetes.io/change-cause":"a try"}}`; !strings.Contains(first, want) {
		t.Errorf("without annotations: %s", first)
	}
	other := opsOf(t, c.Because(Manager(3, Because("before")), "a try"), Manager(3))
	if want := `{"op":"add","path":"/metadata/annotations/kubernetes.io~1change-cause","value":"a try"}`; !strings.Contains(other, want) {
		t.Errorf("with another cause: %s", other)
	}
	if got := opsOf(t, c.Because(Manager(3), ""), Manager(3)); strings.Contains(got, "annotations") {
		t.Errorf("without a cause: %s", got)
	}
}

func TestParseImages(t *testing.T) {
	images, err := ParseImages([]string{"app=registry:5000/app:1@sha256:x=y", "log=log"})
	data, _ := json.Marshal(images)
	if err != nil || string(data) != `{"app":"registry:5000/app:1@sha256:x=y","log":"log"}` {
		t.Errorf("got %s, %v", data, err)
	}
	for _, wrong := range []string{"app", "=x", "app="} {
		if _, err := ParseImages([]string{wrong}); err == nil {
			t.Errorf("%s should be refused", wrong)
		}
	}
}

func TestWarnings(t *testing.T) {
	owned := func(manager, operation, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const image, template = `{"f:spec":{"f:image":{}}}`, `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:image":{}}}}}}}`
	tests := map[string]struct {
		change  func(*v1.PodManager)
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"no manager":                {nil, nil, ""},
		"a person":                  {nil, []metav1.ManagedFieldsEntry{owned("kubectl-client-side-apply", "Update", image)}, ""},
		"Flux":                      {nil, []metav1.ManagedFieldsEntry{owned("kustomize-controller", "Apply", image)}, "Flux (field manager kustomize-controller) owns spec.image of web"},
		"Flux, but another field":   {nil, []metav1.ManagedFieldsEntry{owned("kustomize-controller", "Apply", `{"f:spec":{"f:replicas":{}}}`)}, ""},
		"Argo CD":                   {nil, []metav1.ManagedFieldsEntry{owned("argocd-controller", "Apply", image)}, "Argo CD (field manager argocd-controller) owns spec.image of web"},
		"Helm":                      {nil, []metav1.ManagedFieldsEntry{owned("helm", "Update", image)}, "Helm (field manager helm) owns spec.image of web"},
		"a part of the template":    {twoContainers, []metav1.ManagedFieldsEntry{owned("kustomize-controller", "Apply", template)}, "owns spec.template.spec.containers of web"},
		"what cannot be read":       {nil, []metav1.ManagedFieldsEntry{owned("helm", "Update", `{"f:`)}, ""},
		"a status that it has read": {nil, []metav1.ManagedFieldsEntry{{Manager: "helm", Subresource: "status", FieldsV1: metav1.NewFieldsV1(image)}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Manager(3)
			if test.change != nil {
				test.change(m)
			}
			m.ManagedFields = test.entries
			c, err := SetImage(map[string]string{"app": "nginx:2"}, "")(m, Now)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(c.Warnings(m), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
