package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		"k get deployments.apps 'web' --ignore-not-found", `uid=="uid-new"`, "'uid-Deployment/4/')", `[ "$#" -eq 3 ]`,
		"    apps.mycompany.com/handover-from: uid-Deployment\n",
		"\n  paused: true\n", "k patch horizontalpodautoscalers.autoscaling 'scaler'", `"apps.mycompany.com/handover-revision=${revision##*-}"`,
		`k label pods "$@" 'podmanager=web' 'apps.mycompany.com/revision-' --overwrite`,
		"k delete deployments.apps 'web' --cascade=orphan", "k delete replicasets.apps 'web-old' 'web-new' --cascade=orphan",
		"--for=jsonpath='{.status.replicas}'=3", `"apps.mycompany.com/revision=$revision"`, `"spec":{"paused":false}}`, "--for=condition=Ready",
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

// kubectl answers the script's questions from the environment, and prints its other calls. A step that must not take place in a test fails.
const kubectl = `#!/bin/sh
shift # --namespace
case "$1 $2" in
'get deployments.apps') printf %s "$NOW" ;;
'get pods') printf %s "$PODS" ;;
'get podmanagers.apps.mycompany.com')
	case "$*" in
	*observedGeneration*) printf %s "$SEEN" ;;
	*handover-revision*) printf x1 ;;
	*) printf %s "$MANAGER" ;;
	esac ;;
'apply -f') cat >/dev/null && echo apply ;;
*) echo "$*" ;;
esac
`

// run runs a script with what the cluster has, and returns what it prints.
func run(t *testing.T, script string, cluster ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(file, []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh")
	command.Stdin, command.Env = strings.NewReader(script), append(os.Environ(), append(cluster, "KUBECTL="+file)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// A run continues an unfinished one. It writes nothing if the handover is complete, or if the cluster is not what the script was written for.
func TestAdoptRunsAgain(t *testing.T) {
	script, err := scriptFor(t, live(t, "Deployment", 2, 2, 2), Live{Sets: []Set{{"web-1", "uid-new", 2}}}, "deployments.apps")
	if err != nil {
		t.Fatal(err)
	}
	const (
		asWritten, going, other  = "NOW=uid-Deployment/4/", "NOW=uid-Deployment/5/2026-01-01T00:00:00Z", "NOW=uid-other/4/"
		marked, done, resumed    = "MANAGER=uid-Deployment/true", "MANAGER=/", "MANAGER=uid-Deployment/false"
		donePaused, markedByElse = "MANAGER=/true", "MANAGER=uid-other/true"
		pods                     = "PODS=a b "
	)
	begin := []string{
		"apply", "annotate podmanagers.apps.mycompany.com web apps.mycompany.com/handover-revision=x1 --overwrite",
		"label pods a b podmanager=web apps.mycompany.com/revision- --overwrite",
	}
	end := []string{
		"delete deployments.apps web --cascade=orphan --ignore-not-found", "delete replicasets.apps web-1 --cascade=orphan --ignore-not-found",
		"wait podmanagers.apps.mycompany.com/web --for=jsonpath={.status.replicas}=2 --timeout=2m",
		"label pods --selector=podmanager=web,!apps.mycompany.com/revision apps.mycompany.com/revision=x1",
		`patch podmanagers.apps.mycompany.com web --type=merge -p {"metadata":{"annotations":` +
			`{"apps.mycompany.com/handover-from":null,"apps.mycompany.com/handover-revision":null}},"spec":{"paused":false}}`,
		"wait podmanagers.apps.mycompany.com/web --for=condition=Ready --timeout=10m",
	}
	already := []string{"PodManager web has the pods of Deployment web already: nothing was changed"}
	for name, test := range map[string]struct {
		cluster []string
		want    []string
		refusal string
	}{
		"the first run":                           {cluster: []string{asWritten, pods}, want: slices.Concat(begin, end)},
		"cut off before the deletion":             {cluster: []string{asWritten, pods, marked}, want: slices.Concat(begin, end)},
		"cut off during the deletion":             {cluster: []string{going, pods, marked}, want: end},
		"cut off before the sets' deletion":       {cluster: []string{pods, marked}, want: end},
		"cut off before the end":                  {cluster: []string{marked}, want: end},
		"done":                                    {cluster: []string{done}, want: already},
		"done, and paused for another reason":     {cluster: []string{donePaused}, want: already},
		"resumed by hand":                         {cluster: []string{resumed}, want: already},
		"resumed by hand, too early":              {cluster: []string{resumed, pods}, refusal: "still with their old owner: a b"},
		"a PodManager of that name":               {cluster: []string{asWritten, pods, done}, refusal: "PodManager web exists already"},
		"a PodManager for another source's pods":  {cluster: []string{asWritten, pods, markedByElse}, refusal: "PodManager web exists already"},
		"resumed by hand while the source exists": {cluster: []string{asWritten, pods, resumed}, refusal: "PodManager web exists already"},
		"a pod less":                              {cluster: []string{asWritten, "PODS=a "}, refusal: "the number of pods of Deployment web is 1, not 2"},
		"another source":                          {cluster: []string{other, pods, marked}, refusal: "was changed since this script was written"},
		"another cluster":                         {refusal: "has neither Deployment web nor PodManager web"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := append([]string{"NOW=", "MANAGER=", "PODS=", "SEEN=1/1/web-x1"}, test.cluster...)
			got, err := run(t, script, cluster...)
			if want := strings.Join(test.want, "\n"); test.refusal == "" && (err != nil || strings.TrimSpace(got) != want) {
				t.Errorf("got %v and\n%s\nwant\n%s", err, got, want)
			}
			if test.refusal != "" && (err == nil || !strings.HasPrefix(got, "error: ") || !strings.Contains(got, test.refusal)) {
				t.Errorf("got %v and\n%s\nwant %s", err, got, test.refusal)
			}
		})
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
