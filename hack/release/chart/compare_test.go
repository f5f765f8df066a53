package main

import (
	"slices"
	"strings"
	"testing"
)

const manifest = `
apiVersion: v1
kind: Namespace
metadata: {name: podmanager-system}
---
# A comment alone is no object.
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: b, labels: {app: c}}
spec:
  replicas: 2
  selector: {matchLabels: {app: c}}
  args: [x, w]
`

func TestDifferences(t *testing.T) {
	const deployment = "Deployment b/a"
	tests := map[string]struct {
		change []string // pairs of old and new text
		want   []string
	}{
		"the same":           {},
		"labels of Helm":     {[]string{"labels: {app: c}", "labels: {app: c, helm.sh/chart: d, app.kubernetes.io/managed-by: Helm, app.kubernetes.io/version: e}"}, nil},
		"annotation of Helm": {[]string{"labels: {app: c}", "labels: {app: c}, annotations: {helm.sh/resource-policy: keep}"}, nil},
		"another label":      {[]string{"labels: {app: c}", "labels: {app: c, d: e}"}, []string{deployment + `: metadata.labels.d is missing in artifacts, "e" in the chart`}},
		"a label less":       {[]string{", labels: {app: c}", ""}, []string{deployment + `: metadata.labels is {"app":"c"} in artifacts, missing in the chart`}},
		"a label of Helm in a selector": {[]string{"matchLabels: {app: c}", "matchLabels: {app: c, helm.sh/chart: d}"},
			[]string{deployment + `: spec.selector.matchLabels.helm.sh/chart is missing in artifacts, "d" in the chart`}},
		"another number":   {[]string{"replicas: 2", "replicas: 3"}, []string{deployment + ": spec.replicas is 2 in artifacts, 3 in the chart"}},
		"a number as text": {[]string{"replicas: 2", "replicas: '2'"}, []string{deployment + `: spec.replicas is 2 in artifacts, "2" in the chart`}},
		"one of a list":    {[]string{"[x, w]", "[x, z]"}, []string{deployment + `: spec.args[1] is "w" in artifacts, "z" in the chart`}},
		"a shorter list":   {[]string{"[x, w]", "[x]"}, []string{deployment + `: spec.args is ["x","w"] in artifacts, ["x"] in the chart`}},
		"another name":     {[]string{"name: a", "name: z"}, []string{deployment + ": not in the chart", "Deployment b/z: only in the chart"}},
		"no namespace":     {[]string{"kind: Namespace\nmetadata: {name: podmanager-system}", "kind: Pod\nmetadata: {name: d}"}, []string{"Pod d: only in the chart"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want, err := readObjects([]byte(manifest))
			if err != nil {
				t.Fatal(err)
			}
			got, err := readObjects([]byte(strings.NewReplacer(test.change...).Replace(manifest)))
			if err != nil {
				t.Fatal(err)
			}
			if found := differences(want, got); !slices.Equal(found, test.want) {
				t.Errorf("got  %q\nwant %q", found, test.want)
			}
		})
	}
}

func TestObjectTwice(t *testing.T) {
	const pod = "kind: Pod\nmetadata: {name: a}\n---\n"
	if _, err := readObjects([]byte(pod + pod)); err == nil || !strings.Contains(err.Error(), "Pod a occurs twice") {
		t.Errorf("got %v", err)
	}
}
