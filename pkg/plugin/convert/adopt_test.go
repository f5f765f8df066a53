package convert

import (
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// live returns an object as the API server has it, with the given numbers of pods.
func live(t *testing.T, kind string, wanted, exist, updated int64) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, kind, "")
	object.SetUID(types.UID("uid-" + kind))
	object.SetNamespace("shop")
	object.SetGeneration(4)
	object.Object["status"] = map[string]any{"replicas": exist, "updatedReplicas": updated, "observedGeneration": int64(4)}
	if err := unstructured.SetNestedField(object.Object, wanted, "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	return object
}

func scriptFor(t *testing.T, object *unstructured.Unstructured, around Live, resource string) (string, error) {
	t.Helper()
	result, err := Convert(object, Options{Live: &around})
	if err != nil {
		t.Fatal(err)
	}
	return Adopt(object, result, around, resource)
}

// The script names the object that it was written for, so that it cannot affect another one, and it deletes last.
func TestAdopt(t *testing.T) {
	around := Live{Autoscalers: []string{"scaler"}, Sets: []Set{{"web-old", "uid-old", 0}, {"web-new", "uid-new", 3}}}
	got, err := scriptFor(t, live(t, "Deployment", 3, 3, 3), around, "deployments.apps")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"# Hands the pods of Deployment web in namespace shop over to PodManager web: 3 in all.", "--namespace='shop'",
		"k get deployments.apps 'web' --ignore-not-found", "'uid-Deployment/4')", `uid=="uid-new"`, `[ "$#" -eq 3 ]`,
		"\n  paused: true\n", "k patch horizontalpodautoscalers.autoscaling 'scaler'", `k label pods "$@" 'podmanager=web' --overwrite`,
		"k delete deployments.apps 'web' --cascade=orphan", "k delete replicasets.apps 'web-old' 'web-new' --cascade=orphan",
		"--for=jsonpath='{.status.replicas}'=3", `"apps.mycompany.com/revision=${revision##*-}"`, `{"spec":{"paused":false}}`, "--for=condition=Ready",
	} {
		next := strings.Index(got[at:], want)
		if next < 0 {
			t.Fatalf("%q is missing, or comes too early, in\n%s", want, got)
		}
		at += next
	}
	check := exec.CommandContext(t.Context(), "sh", "-n")
	check.Stdin = strings.NewReader(got)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sh does not understand it: %v\n%s", err, out)
	}
}

// Other kinds own their pods directly. A paused object stays paused.
func TestAdoptOfOtherKinds(t *testing.T) {
	object := live(t, "CloneSet", 2, 2, 2)
	if err := unstructured.SetNestedField(object.Object, true, "spec", "updateStrategy", "paused"); err != nil {
		t.Fatal(err)
	}
	got, err := scriptFor(t, object, Live{Revisions: []string{"web-1"}}, "clonesets.apps.kruise.io")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`uid=="uid-CloneSet"`, "k delete clonesets.apps.kruise.io 'web' --cascade=orphan", "k delete controllerrevisions.apps 'web-1'"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, `"paused":false`) || strings.Contains(got, "replicasets") {
		t.Errorf("got\n%s", got)
	}
	if _, err := scriptFor(t, live(t, "ReplicaSet", 2, 2, 0), Live{}, "replicasets.apps"); err != nil {
		t.Errorf("the status of a ReplicaSet has no number of updated pods: %v", err)
	}
}

func TestAdoptRefuses(t *testing.T) {
	unseen := live(t, "Deployment", 3, 3, 3)
	unseen.SetGeneration(5)
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"a rollout under way": {live(t, "Deployment", 3, 4, 1), "pods wanted: 3, existing: 4, made from its current template: 1"},
		"no pods":             {live(t, "Deployment", 0, 0, 0), "it wants no pods"},
		"a spec to come":      {unseen, "has not seen its present spec"},
		"pods in many sets":   {live(t, "Deployment", 3, 3, 3), "none of its ReplicaSets has all of its pods, 3 in number"},
	} {
		if got, err := scriptFor(t, test.object, Live{Sets: []Set{{"a", "a", 2}, {"b", "b", 1}}}, "deployments.apps"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\n%s", name, err, got)
		}
	}
}
