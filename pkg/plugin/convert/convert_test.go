package convert

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const podTemplate = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: 'app:1'}]}}"

// parse returns an object of this kind. The spec is in YAML flow style.
func parse(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	group := "apps/v1"
	if kind == "CloneSet" {
		group = "apps.kruise.io/v1alpha1"
	}
	file, err := Documents([]byte("{apiVersion: " + group + ", kind: " + kind + ", metadata: {name: web}, spec: {" + spec + podTemplate + "}}"))
	if err != nil || len(file.Objects) != 1 {
		t.Fatalf("%d objects, %v", len(file.Objects), err)
	}
	return file.Objects[0]
}

func TestConvert(t *testing.T) {
	tests := map[string]struct {
		kind, spec string
		// want is the PodManager's spec without the template. notes are strings that its notes contain.
		want  string
		notes []string
	}{
		"a Deployment's defaults": {"Deployment", "", "{replicas: 1, updateStrategy: {type: RollingUpdate}}", []string{"failurePolicy.onFailure"}},
		"a Deployment": {"Deployment", "replicas: 3, paused: true, minReadySeconds: 5, progressDeadlineSeconds: 60, revisionHistoryLimit: 2, " +
			"selector: {matchLabels: {app: web}}, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0%}}, ",
			"{replicas: 3, paused: true, minReadySeconds: 5, progressDeadlineSeconds: 60, revisionHistoryLimit: 2, " +
				"updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0%}}}",
			[]string{"spec.selector: is left out: a PodManager finds its pods by the label podmanager=web"}},
		"a Deployment that is recreated": {"Deployment", "replicas: 0, strategy: {type: Recreate}, ", "{replicas: 0, updateStrategy: {type: Recreate}}", nil},
		"a high surge": {"Deployment", "strategy: {rollingUpdate: {maxSurge: 0150%}}, ",
			"{replicas: 1, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 150%}}}", nil},
		"a surge that is too high": {"Deployment", "strategy: {rollingUpdate: {maxSurge: 10000%}}, ",
			"{replicas: 1, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 9999%}}}",
			[]string{"maxSurge: is 9999%, the most that a PodManager may have; the source has 10000%"}},
		"a short deadline": {"Deployment", "progressDeadlineSeconds: 20, ",
			"{replicas: 1, progressDeadlineSeconds: 20, failurePolicy: {gracePeriodSeconds: 19}, updateStrategy: {type: RollingUpdate}}", []string{"to be below progressDeadlineSeconds"}},
		"a ReplicaSet": {"ReplicaSet", "replicas: 2, ", "{replicas: 2, updateStrategy: {type: OnDelete}}", []string{"leaves its pods as they are"}},
		"a long time to be ready": {"ReplicaSet", "minReadySeconds: 900, ",
			"{replicas: 1, minReadySeconds: 900, progressDeadlineSeconds: 1500, updateStrategy: {type: OnDelete}}", []string{"to be above minReadySeconds"}},
		"a StatefulSet": {"StatefulSet", "replicas: 2, serviceName: db, podManagementPolicy: OrderedReady, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}, ",
			"{replicas: 2, podReplacementPolicy: TerminationComplete, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1, partition: 1}}}",
			[]string{"serviceName: is left out: pods have no DNS names (web-0.SERVICE)", "(OrderedReady)", "but not always those with the lowest numbers", "statefulset.kubernetes.io/pod-name"}},
		"numbers from 5 on": {"StatefulSet", "ordinals: {start: 5}, updateStrategy: {rollingUpdate: {maxUnavailable: 50%, partition: 6}}, ",
			"{replicas: 1, podReplacementPolicy: TerminationComplete, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 50%, partition: 1}}}",
			[]string{"ordinals.start: is left out: the numbers of a PodManager's pods begin at 0"}},
		"a StatefulSet on delete": {"StatefulSet", "updateStrategy: {type: OnDelete}, ",
			"{replicas: 1, podReplacementPolicy: TerminationComplete, updateStrategy: {type: OnDelete}}", nil},
		"a CloneSet's defaults": {"CloneSet", "",
			"{replicas: 1, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 20%, podUpdatePolicy: Recreate}}}", []string{"a PodManager rounds 20% down"}},
		"a CloneSet": {"CloneSet", "replicas: 4, scaleStrategy: {podsToDelete: [web-a, web-b], maxUnavailable: 1}, lifecycle: {preDelete: {labelsHandler: {a: b}}}, " +
			"updateStrategy: {type: InPlaceIfPossible, paused: true, partition: 25%, maxUnavailable: 1, maxSurge: 1, inPlaceUpdateStrategy: {gracePeriodSeconds: 9}, scatterStrategy: [{key: a, value: b}]}, ",
			"{replicas: 4, paused: true, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1, partition: 25%, podUpdatePolicy: InPlaceIfPossible, inPlaceGracePeriodSeconds: 9}}}",
			[]string{"kubectl annotate pod web-a web-b apps.mycompany.com/delete=true", "a PodManager has no hooks", "scatterStrategy: is left out: pods are updated in any order", "scaleStrategy.maxUnavailable: is left out: pods are created in batches"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := Convert(parse(t, test.kind, test.spec), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := unstructured.NestedMap(result.Manager.Object, "spec")
			if image, _, _ := unstructured.NestedSlice(got, "template", "spec", "containers"); len(image) != 1 {
				t.Errorf("the template is %v", got["template"])
			}
			delete(got, "template")
			var want map[string]any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if a, b := asYAML(t, got), asYAML(t, want); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
			notes := strings.Join(result.Notes, "\n")
			for _, want := range test.notes {
				if !strings.Contains(notes, want) {
					t.Errorf("%q is missing in\n%s", want, notes)
				}
			}
			if result.FullName() != "podmanager.apps.mycompany.com/web" {
				t.Errorf("it is %s", result.FullName())
			}
		})
	}
}

func asYAML(t *testing.T, value any) string {
	t.Helper()
	data, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		kind, spec string
		change     func(*unstructured.Unstructured)
		options    Options
		want       string
	}{
		"claims":                  {kind: "StatefulSet", spec: "volumeClaimTemplates: [{metadata: {name: data}}], ", want: "StatefulSet web: it has volumeClaimTemplates, and pods of a PodManager have no claims of their own"},
		"claims of a CloneSet":    {kind: "CloneSet", spec: "volumeClaimTemplates: [{metadata: {name: data}}], ", want: "the data of a pod would not follow it"},
		"a strange strategy":      {kind: "Deployment", spec: "strategy: {type: Odd}, ", want: "spec.strategy.type Odd is not known"},
		"a strange percentage":    {kind: "Deployment", spec: "strategy: {rollingUpdate: {maxSurge: many}}, ", want: `spec.strategy.rollingUpdate.maxSurge is "many", not a percentage`},
		"a strange update":        {kind: "CloneSet", spec: "updateStrategy: {type: Odd}, ", want: "one of ReCreate, InPlaceIfPossible and InPlaceOnly"},
		"a StatefulSet's":         {kind: "StatefulSet", spec: "updateStrategy: {type: Odd}, ", want: "spec.updateStrategy.type Odd is not known"},
		"a long name":             {kind: "Deployment", change: func(u *unstructured.Unstructured) { u.SetName(strings.Repeat("x", 53)) }, want: "has 53 characters, but the name of a PodManager may have at most 52: choose another one with --name"},
		"a long name with --name": {kind: "Deployment", options: Options{Name: strings.Repeat("y", 53)}, want: "at most 52"},
		"no name":                 {kind: "Deployment", change: func(u *unstructured.Unstructured) { u.SetName("") }, want: "it has no name"},
		"a controller": {kind: "ReplicaSet", change: func(u *unstructured.Unstructured) {
			u.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})})
		}, want: "Deployment web controls it, and would create it again: convert that Deployment instead"},
		"on its way out":         {kind: "Deployment", change: func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) }, want: "it is being deleted"},
		"another kind":           {kind: "Deployment", change: func(u *unstructured.Unstructured) { u.SetKind("DaemonSet") }, want: "DaemonSet.apps cannot be converted; convert takes Deployment (apps), ReplicaSet (apps), StatefulSet (apps), CloneSet (apps.kruise.io)"},
		"a spec of another type": {kind: "Deployment", change: func(u *unstructured.Unstructured) { u.Object["spec"] = int64(0) }, want: "is not an object"},
		"a name for a shell":     {kind: "Deployment", change: func(u *unstructured.Unstructured) { u.SetName("a'; b") }, want: `"a'; b" is not a valid object name`},
		"no spec":                {kind: "Deployment", change: func(u *unstructured.Unstructured) { delete(u.Object, "spec") }, want: "it has no spec"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := parse(t, test.kind, test.spec)
			if test.change != nil {
				test.change(object)
			}
			if _, err := Convert(object, test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Labels and annotations are kept, except for those that would make tools mistake the PodManager for the old object.
func TestMetadata(t *testing.T) {
	object := parse(t, "Deployment", "")
	object.SetNamespace("shop")
	object.SetUID("1")
	object.SetLabels(map[string]string{"team": "a", "app.kubernetes.io/managed-by": "Helm", "argocd.argoproj.io/instance": "web"})
	object.SetAnnotations(map[string]string{
		"kubernetes.io/change-cause": "first", "meta.helm.sh/release-name": "web", "deployment.kubernetes.io/revision": "3", "kubectl.kubernetes.io/last-applied-configuration": "{}",
	})
	result, err := Convert(object, Options{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "annotations:\n  kubernetes.io/change-cause: first\nlabels:\n  team: a\nname: other\nnamespace: shop\n"
	if got := asYAML(t, result.Manager.Object["metadata"]); got != want {
		t.Errorf("got\n%s", got)
	}
	notes := strings.Join(result.Notes, "\n")
	if strings.Count(notes, "Helm deploys the Deployment") != 1 || strings.Count(notes, "Argo CD brings the Deployment back") != 1 {
		t.Errorf("notes:\n%s", notes)
	}
	object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "me"})
	object.SetAnnotations(nil)
	if result, err = Convert(object, Options{}); err != nil || result.Manager.GetLabels()["app.kubernetes.io/managed-by"] != "me" {
		t.Errorf("a label of another tool is removed: %+v, %v", result, err)
	}
}

// Labels and annotations that the controller sets on single pods do not belong in a template, and the CRD refuses them there.
func TestTemplate(t *testing.T) {
	object := parse(t, "Deployment", "")
	const labels, odd = "podmanager", "apps.mycompany.com/delete"
	metadata := map[string]any{"creationTimestamp": nil, "name": "odd", "labels": map[string]any{labels: "x", "app": "web"}, "annotations": map[string]any{odd: "true"}, "finalizers": []any{"a/b"}}
	if err := unstructured.SetNestedMap(object.Object, metadata, "spec", "template", "metadata"); err != nil {
		t.Fatal(err)
	}
	result, err := Convert(object, Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept, _, _ := unstructured.NestedMap(result.Manager.Object, "spec", "template", "metadata")
	if got := asYAML(t, kept); got != "finalizers:\n- a/b\nlabels:\n  app: web\n" {
		t.Errorf("got\n%s", got)
	}
	notes := strings.Join(result.Notes, "\n")
	for _, want := range []string{"spec.template.metadata.labels.podmanager: is set on single pods", "spec.template.metadata.annotations." + odd, "spec.template.metadata.name: has no effect"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in\n%s", want, notes)
		}
	}
}
