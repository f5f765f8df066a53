package convert

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// script hands pods over. A PodManager that is paused from the start adopts pods and creates none as long as no pod has a revision, so it does not
// matter that the garbage collector removes the old owner from one pod after the other. Once all are adopted, a label with the hash of the
// PodManager's revision makes them part of that revision. The script deletes nothing until all pods are known to exist and the controller has
// written the PodManager's status.
//
// A run may be cut off anywhere, and the next run continues. The PodManager is marked from its creation until it is resumed. The manifest is applied,
// and the revision of the pods is noted, only while the source is as it was, because only then are the pods known to have its template. Once the
// source is gone, the mark tells an unfinished run from a finished one, after which a release may have given the PodManager and its pods another
// template.
var script = template.Must(template.New("script").Parse(`#!/bin/sh
# Hands the pods of {{.From}} in namespace {{.Namespace}} over to PodManager {{.Name}}: {{.Pods}} in all. No pod is restarted, none is replaced.
#
# Read this script, then run it: sh FILE. After an error, run it again. Once it is done, it changes nothing any more.
# KUBECTL may be set, such as KUBECTL="kubectl --context=prod".
# To go back, as long as no pod was replaced: delete the PodManager with --cascade=orphan, and apply the old manifest again.
{{- range .Notes}}
# - {{.}}
{{- end}}
set -eu
k() { ${KUBECTL:-kubectl} --namespace='{{.Namespace}}' "$@"; }
fail() { echo "error: $*" >&2; exit 1; }

# 1. Check that {{.From}} and its pods are as they were when this script was written, or that an earlier run has begun to hand the pods over.
now=$(k get {{.Resource}} '{{.Source}}' --ignore-not-found -o jsonpath='{.metadata.uid}/{.metadata.generation}/{.metadata.deletionTimestamp}')
manager=$(k get {{.Managers}} '{{.Name}}' --ignore-not-found -o jsonpath='{.metadata.annotations.{{.MarkPath}}}/{.spec.paused}')
pods=$(k get pods -o jsonpath='{range .items[?(@.metadata.ownerReferences[0].uid=="{{.PodOwner}}")]}{.metadata.name}{" "}{end}')
# shellcheck disable=SC2086
set -- $pods
case "$now" in
'{{.UID}}/{{.Generation}}/')
	case "$manager" in
	'' | '{{.UID}}/true') ;;
	*) fail "PodManager {{.Name}} exists already: delete it, or convert {{.From}} with another --name" ;;
	esac
	[ "$#" -eq {{.Pods}} ] || fail "the number of pods of {{.From}} is $#, not {{.Pods}}: wait until it is complete, or convert it again" ;;
'' | '{{.UID}}/'*/?*)
	case "$manager" in
	'') fail "namespace {{.Namespace}} of this cluster has neither {{.From}} nor PodManager {{.Name}}" ;;
	'{{.UID}}/true') set -- ;;
	*)
		[ "$#" -eq 0 ] || fail "PodManager {{.Name}} was resumed before it had all pods of {{.From}}; still with their old owner: $pods"
		echo 'PodManager {{.Name}} has the pods of {{.From}} already: nothing was changed'
		exit 0 ;;
	esac ;;
*)
	fail "{{.From}} was changed since this script was written: convert it again" ;;
esac

if [ "$#" -gt 0 ]; then
	# 2. Create the PodManager. It is paused from the start, so it creates no pods. Its annotation says that the handover is not complete.
	k apply -f - <<'EOF'
{{.Manifest}}EOF
	tries=0
	until state=$(k get {{.Managers}} '{{.Name}}' -o jsonpath='{.metadata.generation}/{.status.observedGeneration}/{.status.updateRevision}') &&
		seen=${state%/*} revision=${state##*/} && [ "${seen%/*}" = "${seen#*/}" ] && [ -n "$revision" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 60 ] || fail "no controller has seen PodManager {{.Name}}; run 'kubectl pm check {{.Name}} -n {{.Namespace}}' to see why"
		sleep 1
	done
{{- range .Autoscalers}}
	k patch horizontalpodautoscalers.autoscaling '{{.}}' --type=merge -p '{{$.ScaleTarget}}'
{{- end}}

	# 3. Note the pods' revision, and label the pods as those of the PodManager, which adopts them once they have no other owner.
	k annotate {{.Managers}} '{{.Name}}' "{{.Noted}}=${revision##*-}" --overwrite
	k label pods "$@" '{{.Label}}={{.Name}}' '{{.RevisionLabel}}-' --overwrite
fi

# 4. Delete the owners of the pods, but not the pods, so that the PodManager adopts them.
k delete {{.Resource}} '{{.Source}}' --cascade=orphan --ignore-not-found
{{- if .Sets}}
k delete replicasets.apps{{range .Sets}} '{{.}}'{{end}} --cascade=orphan --ignore-not-found
{{- end}}
{{- if .Revisions}}
k delete controllerrevisions.apps{{range .Revisions}} '{{.}}'{{end}} --ignore-not-found
{{- end}}
k wait '{{.Managers}}/{{.Name}}' --for=jsonpath='{.status.replicas}'={{.Pods}} --timeout=2m

# 5. Make the pods part of the revision that was noted.
revision=$(k get {{.Managers}} '{{.Name}}' -o jsonpath='{.metadata.annotations.{{.NotedPath}}}')
k label pods --selector='{{.Label}}={{.Name}},!{{.RevisionLabel}}' "{{.RevisionLabel}}=$revision"

# 6. {{if .StaysPaused}}Remove the annotations{{else}}Resume the PodManager, and remove the annotations{{end}}: the handover is complete.
k patch {{.Managers}} '{{.Name}}' --type=merge -p '{{.Finish}}'
k wait '{{.Managers}}/{{.Name}}' --for=condition=Ready --timeout=10m
`))

// mark is the annotation of a PodManager that has yet to get the pods of an object. It holds the UID of the object. noted holds the hash of the
// revision that has the template of these pods.
const (
	mark  = v1.GroupName + "/handover-from"
	noted = v1.GroupName + "/handover-revision"
)

// handover holds the values that the script needs.
type handover struct {
	From, Source, Name, Namespace string
	// Resource and Managers are the resource names of the source and of PodManagers, with their groups.
	Resource, Managers string
	UID, PodOwner      types.UID
	Generation, Pods   int64
	Manifest           string
	StaysPaused        bool
	// Noted is the key of the annotation noted. MarkPath and NotedPath are the keys in a JSONPath. Finish is the merge patch that ends the handover.
	Noted, MarkPath, NotedPath, Finish string
	Notes                              []string
	Autoscalers                        []string
	ScaleTarget                        string
	Sets, Revisions                    []string

	Label, RevisionLabel string
}

// Adopt returns a shell script that hands the pods of a converted live object over to the PodManager. resource is the name of the object's
// resource with its group, such as deployments.apps.
func Adopt(object *unstructured.Unstructured, result Result, live Live, resource string) (string, error) {
	wanted, err := complete(object)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from(object), err)
	}
	h := handover{
		From: from(object), Source: object.GetName(), Name: result.Manager.GetName(), Namespace: object.GetNamespace(),
		Resource: resource, Managers: "podmanagers." + v1.GroupName, UID: object.GetUID(), PodOwner: object.GetUID(),
		Generation: object.GetGeneration(), Pods: wanted, Notes: result.Notes, Autoscalers: live.Autoscalers,
		ScaleTarget: scaleTarget(result.Manager.GetName()), Revisions: live.Revisions, Label: v1.LabelManager, RevisionLabel: v1.LabelRevision,
	}
	if object.GetKind() == "Deployment" {
		h.PodOwner = ""
	}
	for _, set := range live.Sets {
		h.Sets = append(h.Sets, set.Name)
		if int64(set.Replicas) == wanted {
			h.PodOwner = set.UID
		}
	}
	if h.PodOwner == "" {
		return "", fmt.Errorf("%s: none of its ReplicaSets has all of its pods, %d in number", h.From, wanted)
	}
	paused := result.Manager.DeepCopy()
	h.StaysPaused, _, _ = unstructured.NestedBool(paused.Object, "spec", "paused")
	if err := unstructured.SetNestedField(paused.Object, true, "spec", "paused"); err != nil {
		return "", err
	}
	if err := unstructured.SetNestedField(paused.Object, string(h.UID), "metadata", "annotations", mark); err != nil {
		return "", err
	}
	h.Noted, h.MarkPath, h.NotedPath = noted, strings.ReplaceAll(mark, ".", `\.`), strings.ReplaceAll(noted, ".", `\.`)
	h.Finish = finish(h.StaysPaused)
	if h.Manifest, err = encode(paused); err != nil {
		return "", err
	}
	var text strings.Builder
	err = script.Execute(&text, h)
	return text.String(), err
}

// finish returns the merge patch that removes the annotations and, unless the PodManager is to stay paused, resumes it. It is one patch, so that a
// PodManager that works has no mark.
func finish(staysPaused bool) string {
	unmark := fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:null}}`, mark, noted)
	if staysPaused {
		return unmark + "}"
	}
	return unmark + `,"spec":{"paused":false}}`
}

// complete returns the desired number of pods. It returns an error unless they all exist and are made from the current template.
func complete(object *unstructured.Unstructured) (int64, error) {
	field := func(path ...string) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, path...)
		return value
	}
	wanted, exist, updated := field("spec", "replicas"), field("status", "replicas"), field("status", "updatedReplicas")
	if object.GetKind() == "ReplicaSet" {
		updated = exist // the status of a ReplicaSet does not count updated pods
	}
	switch {
	case wanted == 0:
		return 0, fmt.Errorf("it wants no pods, so there are none to hand over: apply the PodManager, and delete the %s", object.GetKind())
	case field("status", "observedGeneration") < object.GetGeneration():
		return 0, errors.New("its controller has not seen its present spec yet; try again")
	case exist != wanted || updated != wanted:
		return 0, fmt.Errorf("pods wanted: %d, existing: %d, made from its current template: %d; wait until its rollout is complete",
			wanted, exist, updated)
	default:
		return wanted, nil
	}
}
