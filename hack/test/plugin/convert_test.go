//go:build e2e

package plugin

import (
	"strings"
	"testing"
)

// podTemplate is the template of all workloads in these tests.
const podTemplate = `
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {note: "1"}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: "app:1", ports: [{containerPort: 80}], resources: {requests: {cpu: 10m}}, env: [{name: A, value: b}]}]
      volumes: [{name: scratch, emptyDir: {}}]
`

// workloads are manifests that use many fields of their kinds.
var workloads = map[string]string{
	"Deployment": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: a}}
spec:
  replicas: 3
  paused: false
  minReadySeconds: 1
  progressDeadlineSeconds: 20
  revisionHistoryLimit: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 200%, maxUnavailable: 0}}` + podTemplate,
	"Deployment, recreated": "\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  strategy: {type: Recreate}" + podTemplate,
	"ReplicaSet":            "\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\nspec:\n  replicas: 2\n  minReadySeconds: 700" + podTemplate,
	"StatefulSet": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 2
  serviceName: web
  podManagementPolicy: Parallel
  ordinals: {start: 1}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  updateStrategy: {rollingUpdate: {partition: 2}}` + podTemplate,
	"StatefulSet, on delete": "\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  updateStrategy: {type: OnDelete}" + podTemplate,
	"CloneSet": `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 5
  minReadySeconds: 2
  scaleStrategy: {podsToDelete: [web-a], maxUnavailable: 10%}
  lifecycle: {preDelete: {finalizersHandler: [example.com/a]}}
  updateStrategy: {type: InPlaceIfPossible, partition: 20%, maxSurge: 10%, inPlaceUpdateStrategy: {gracePeriodSeconds: 5}}` + podTemplate,
}

// dryRun makes the API server validate a manifest, including unknown fields.
func (s *space) dryRun(what, manifest string) {
	s.T.Helper()
	if out, err := shared.cluster.KubectlWith(s.T.Context(), manifest, "apply", "--namespace", s.Name, "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
		s.T.Errorf("%s: %s\n%s", what, out, manifest)
	}
}

// The API server accepts manifests that were converted from files.
func TestConvertFiles(t *testing.T) {
	s := newSpace(t)
	var all []string
	for what, manifest := range workloads {
		got := s.tryWith(manifest, "convert", "-f", "-")
		if got.code != 0 || got.err != "" {
			t.Errorf("%s: %v", what, got)
		}
		s.dryRun(what, got.out)
		all = append(all, strings.Replace(manifest, "name: web", "name: web"+strings.ToLower(strings.Trim(what[len(what)-5:], ", ")), 1))
	}
	together := s.tryWith(strings.Join(all, "---"), "convert", "-f", "-")
	if strings.Count(together.out, "kind: PodManager") != len(workloads) {
		t.Errorf("all together: %v", together)
	}
	s.dryRun("all together", together.out)
	if got := s.tryWith(workloads["ReplicaSet"], "convert", "-f", "-", "--name", "other", "-o", "jsonpath={.kind} {.metadata.name} {.spec.replicas}"); got.out != "PodManager other 2" ||
		!strings.Contains(got.err, "ReplicaSet web: spec.selector: is left out: a PodManager finds its pods") {
		t.Errorf("-o: %v", got)
	}
	claims := strings.Replace(workloads["StatefulSet"], "serviceName: web", "volumeClaimTemplates: [{metadata: {name: data}}]", 1)
	if got := s.tryWith(claims, "convert", "-f", "-"); got.code != 1 || got.out != "" || !strings.Contains(got.err, "it has volumeClaimTemplates") {
		t.Errorf("claims: %v", got)
	}
	service := workloads["Deployment"] + "\n---\n{apiVersion: v1, kind: Service, metadata: {name: front}}"
	got := s.tryWith(service, "convert", "-f", "-")
	if got.code != 0 || strings.Contains(got.out, "front") || !strings.Contains(got.err, "Warning: Service front (v1) is left out") {
		t.Errorf("another kind: %v", got)
	}
	s.dryRun("another kind", got.out)
	scaled := s.tryWith(workloads["Deployment"]+"---"+autoscaler, "convert", "-f", "-")
	if strings.Contains(scaled.out, "\n  replicas: ") || !strings.Contains(scaled.out, "# - spec.replicas: is left out, because HorizontalPodAutoscaler scaler sets it") {
		t.Errorf("with an autoscaler: %v", scaled)
	}
	s.dryRun("with an autoscaler", scaled.out)
	s.refused(1, "say what to convert", "convert")
	s.refused(1, "not both", "convert", "deployment/web", "-f", "x")
	s.refused(1, "no such file", "convert", "-f", "/does/not/exist")
}

// Live objects are found under all their names, with the autoscalers and disruption budgets that refer to them.
func TestConvertLive(t *testing.T) {
	s := newSpace(t)
	s.Apply(workloads["Deployment"])
	s.Apply("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: budget}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n")
	s.Apply(autoscaler)
	var first string
	for i, arguments := range []string{"deployment/web", "deploy/web", "deployments.v1.apps/web", "deployment web"} {
		got := s.pm(append([]string{"convert"}, strings.Fields(arguments)...)...)
		if i == 0 {
			first = got
		}
		if got != first {
			t.Errorf("%s: got\n%s\nwant\n%s", arguments, got, first)
		}
	}
	for _, want := range []string{"HorizontalPodAutoscaler scaler scales it: kubectl patch hpa scaler", "PodDisruptionBudget budget keeps working", "namespace: " + s.Name, "spec.replicas: is left out"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is missing in\n%s", want, first)
		}
	}
	s.dryRun("the live one", first)
	s.refused(1, "there is no Deployment nope in namespace "+s.Name, "convert", "deployment/nope")
	s.refused(1, "Service cannot be converted; convert takes Deployment (apps)", "convert", "service/web")
	s.refused(1, "knows no kind frob", "convert", "frob/web")
	s.refused(1, `"web" is not KIND/NAME`, "convert", "web")
	s.refused(1, "--adopt prints a script", "convert", "deployment/web", "--adopt", "-o", "yaml")
}

// A CloneSet is converted if OpenKruise's CRD is installed. Its controller need not run.
func TestConvertLiveCloneSet(t *testing.T) {
	s := newSpace(t)
	s.Apply(cloneSets)
	t.Cleanup(func() {
		_, _ = shared.cluster.KubectlWith(t.Context(), cloneSets, "delete", "--wait=false", "-f", "-")
	})
	s.Await("CloneSets to be served", func() (any, bool) {
		out, err := shared.cluster.KubectlWith(t.Context(), workloads["CloneSet"], "apply", "--namespace", s.Name, "-f", "-")
		return out, err == nil
	})
	got := s.pm("convert", "clone/web")
	if !strings.Contains(got, "# Made from CloneSet web.") || !strings.Contains(got, "podUpdatePolicy: InPlaceIfPossible") {
		t.Errorf("got\n%s", got)
	}
	s.refused(1, "CloneSet web: its controller has not seen its present spec yet", "convert", "clonesets.apps.kruise.io/web", "--adopt")
}

// cloneSets is the part of OpenKruise's CRD that the test needs.
const cloneSets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clonesets.apps.kruise.io}
spec:
  group: apps.kruise.io
  names: {kind: CloneSet, plural: clonesets, singular: cloneset, shortNames: [clone]}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`
