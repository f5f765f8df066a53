package main

import (
	"strings"
	"testing"
)

// The PodManager web has a template without labels, with two containers. The PodManager short has no template.
const web = `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec:
  replicas: 3
  template:
    spec:
      containers:
        - {name: nginx, image: "nginx:1.29", ports: [{containerPort: 80}], env: [{name: A, value: a}]}
        - {name: sidecar, image: "busybox:1.37"}
---
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: short}
spec: {image: "nginx:1.29"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {podmanager: web}
  ports: [{port: 80}]
`

func TestReplicas(t *testing.T) {
	expect(t, web, "replicas: [{name: web, count: 5}, {name: short, count: 7}]", map[string]string{
		"PodManager web: spec.replicas":   "5",
		"PodManager short: spec.replicas": "7",
	}, nil)
}

// Kustomize finds the images of a template by itself.
func TestImages(t *testing.T) {
	expect(t, web, "images: [{name: nginx, newName: mirror/nginx, newTag: \"1.30\"}]", map[string]string{
		"PodManager short: spec.image": "mirror/nginx:1.30",
	}, map[string]string{
		"PodManager short: spec.template":                       "absent",
		"PodManager web: spec.image":                            "absent",
		"PodManager web: spec.template.spec.containers.0.image": "mirror/nginx:1.30",
		"PodManager web: spec.template.spec.containers.1.image": "busybox:1.37",
	})
}

// Kustomize adds the labels that a Service selects by to the template, even to one without metadata. A PodManager of the short form gets no
// template.
func TestLabels(t *testing.T) {
	tests := map[string]struct{ more, selector string }{
		"includeTemplates": {"labels: [{pairs: {team: a}, includeTemplates: true}]", "map[podmanager:web]"},
		"includeSelectors": {"labels: [{pairs: {team: a}, includeSelectors: true}]", "map[podmanager:web team:a]"},
		"commonLabels":     {"commonLabels: {team: a}", "map[podmanager:web team:a]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect(t, web, test.more, map[string]string{
				"PodManager web: spec.template.metadata.labels": "map[team:a]",
			}, map[string]string{
				"PodManager web: metadata.labels":   "map[team:a]",
				"PodManager short: metadata.labels": "map[team:a]",
				"PodManager short: spec":            "map[image:nginx:1.29]",
				"Service web: spec.selector":        test.selector,
			})
		})
	}
}

// Without one of the include fields, labels are for the objects alone: no pod is replaced for them.
func TestLabelsOfObjectsAlone(t *testing.T) {
	expect(t, web, "labels: [{pairs: {team: a}}]", nil, map[string]string{
		"PodManager web: metadata.labels":        "map[team:a]",
		"PodManager web: spec.template.metadata": "absent",
	})
}

func TestPlacementLabels(t *testing.T) {
	term := `{topologyKey: zone, labelSelector: {matchLabels: {a: b}}}`
	terms := "{requiredDuringSchedulingIgnoredDuringExecution: [" + term + "], " +
		"preferredDuringSchedulingIgnoredDuringExecution: [{podAffinityTerm: " + term + "}]}"
	objects := `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints: [` + term + `]
      affinity: {podAffinity: ` + terms + `, podAntiAffinity: ` + terms + `}
`
	want := map[string]string{}
	for _, path := range placements {
		want["PodManager web: spec.template.spec."+path] = "map[a:b team:a]"
	}
	expect(t, objects, "labels: [{pairs: {team: a}, includeSelectors: true}]", want, nil)
}

// placements are where a pod's placement depends on the labels of pods.
var placements = []string{
	"topologySpreadConstraints.0.labelSelector.matchLabels",
	"affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.0.labelSelector.matchLabels",
	"affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.podAffinityTerm.labelSelector.matchLabels",
	"affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0.labelSelector.matchLabels",
	"affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.podAffinityTerm.labelSelector.matchLabels",
}

func TestAnnotations(t *testing.T) {
	expect(t, web, "commonAnnotations: {team: a}", map[string]string{
		"PodManager web: spec.template.metadata.annotations": "map[team:a]",
	}, map[string]string{
		"PodManager short: metadata.annotations": "map[team:a]",
		"PodManager short: spec":                 "map[image:nginx:1.29]",
	})
}

// A patch changes one container and one of its lists, and keeps the other containers and lists.
func TestStrategicMergePatch(t *testing.T) {
	patch := `
patches:
  - patch: |
      apiVersion: apps.mycompany.com/v1
      kind: PodManager
      metadata: {name: web}
      spec:
        template:
          spec:
            containers:
              - {name: nginx, env: [{name: B, value: b}], ports: [{containerPort: 80, name: http}]}
`
	expect(t, web, patch, map[string]string{
		"PodManager web: spec.template.spec.containers.0": "map[env:[map[name:B value:b] map[name:A value:a]] image:nginx:1.29 name:nginx " +
			"ports:[map[containerPort:80 name:http]]]",
		"PodManager web: spec.template.spec.containers.1": "map[image:busybox:1.37 name:sidecar]",
	}, map[string]string{
		"PodManager web: spec.replicas": "3",
	})
}

// template has a list of each kind of merge key.
const template = `
    spec:
      imagePullSecrets: [{name: a}]
      tolerations: [{key: a, operator: Exists}]
      topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]
      initContainers: [{name: first, image: busybox}]
      volumes: [{name: tmp, emptyDir: {}}, {name: settings, configMap: {name: settings}}]
      containers:
        - name: nginx
          image: nginx
          args: [a, b]
          ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]
          volumeMounts: [{name: tmp, mountPath: /tmp}]
        - {name: sidecar, image: busybox}
`

// A PodManager's template is patched in the same way as that of a Deployment.
func TestPatchedLikeADeployment(t *testing.T) {
	for name, patch := range map[string]string{
		"a container":            "containers: [{name: sidecar, tty: true}]",
		"another container":      "containers: [{name: new, image: new}]",
		"without a container":    "containers: [{name: sidecar, $patch: delete}]",
		"other containers":       "containers: [{$patch: replace}, {name: new, image: new}]",
		"an init container":      "initContainers: [{name: first, tty: true}]",
		"a port of two":          "containers: [{name: nginx, ports: [{containerPort: 53, protocol: UDP, name: dns}]}]",
		"other arguments":        "containers: [{name: nginx, args: [c]}]",
		"a mount":                "containers: [{name: nginx, volumeMounts: [{mountPath: /tmp, readOnly: true}, {mountPath: /a, name: settings}]}]",
		"another volume":         "volumes: [{name: tmp, emptyDir: {medium: Memory}}, {name: new, emptyDir: {}}]",
		"a pull secret":          "imagePullSecrets: [{name: b}]",
		"a spread":               "topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}]",
		"other tolerations":      "tolerations: [{key: b, operator: Exists}]",
		"a value, and an object": "{dnsPolicy: Default, securityContext: {runAsUser: 1}}",
	} {
		t.Run(name, func(t *testing.T) {
			templates := map[string]string{}
			for kind, version := range map[string]string{"Deployment": "apps/v1", "PodManager": "apps.mycompany.com/v1"} {
				if !strings.HasPrefix(patch, "{") {
					patch = "{" + patch + "}"
				}
				head := "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: web}\nspec:\n  template:"
				built, err := build(files{
					"/app/objects.yaml":       head + template,
					"/app/kustomization.yaml": kustomization(kind == "PodManager", "patches: [{path: patch.yaml}]"),
					"/app/patch.yaml":         head + " {spec: " + patch + "}",
				}, "/app")
				if err != nil {
					t.Fatal(err)
				}
				templates[kind] = get(built[kind+" web"], "spec.template")
			}
			if templates["PodManager"] != templates["Deployment"] {
				t.Errorf("the PodManager has %s, the Deployment %s", templates["PodManager"], templates["Deployment"])
			}
		})
	}
}

// A base uses the component, and its overlay does not. The configuration of the component applies to the overlay, too.
func TestOverlay(t *testing.T) {
	overlay := `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../app]
namePrefix: dev-
replicas: [{name: web, count: 5}]
labels: [{pairs: {team: a}, includeSelectors: true}]
patches:
  - target: {kind: PodManager, name: web}
    patch: '{kind: PodManager, metadata: {name: web}, spec: {template: {spec: {containers: [{name: nginx, tty: true}]}}}}'
`
	built, err := build(files{"/app/objects.yaml": web, "/app/kustomization.yaml": kustomization(true, ""), "/dev/kustomization.yaml": overlay}, "/dev")
	if err != nil {
		t.Fatal(err)
	}
	check(t, built, map[string]string{
		"PodManager dev-web: spec.replicas":                         "5",
		"PodManager dev-web: spec.template.metadata.labels":         "map[team:a]",
		"PodManager dev-web: spec.template.spec.containers.0.image": "nginx:1.29",
		"PodManager dev-web: spec.template.spec.containers.0.tty":   "true",
		"PodManager dev-web: spec.template.spec.containers.1.name":  "sidecar",
		"Service dev-web: spec.selector":                            "map[podmanager:dev-web team:a]",
	})
}

// If both the base and the overlay use the component, the result is the same as if only one of them does.
func TestComponentTwice(t *testing.T) {
	overlay := strings.Replace(kustomization(true, "replicas: [{name: web, count: 5}]"), "objects.yaml", "../app", 1)
	built, err := build(files{"/app/objects.yaml": web, "/app/kustomization.yaml": kustomization(true, ""), "/dev/kustomization.yaml": overlay}, "/dev")
	if err != nil {
		t.Fatal(err)
	}
	check(t, built, map[string]string{"PodManager web: spec.replicas": "5"})
}
