package convert

import (
	"strings"
	"testing"
)

const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: app}]}}}\n"

const service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: front}\n"

func TestDocuments(t *testing.T) {
	tests := map[string]struct {
		data string
		want int
		err  string
	}{
		"one":            {web, 1, ""},
		"several":        {"---\n" + web + "---\n\n---\n# nothing\n---\n" + web, 2, ""},
		"JSON":           {`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`, 1, ""},
		"a list":         {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment}\n- {apiVersion: apps/v1, kind: StatefulSet}\n", 2, ""},
		"an old version": {strings.Replace(web, "apps/v1", "extensions/v1beta1", 1), 1, ""},
		"other kinds": {strings.TrimPrefix(service, "---\n") + strings.Replace(service, "front", "back", 1), 0,
			"Service front (v1), Service back (v1) cannot be converted; convert takes Deployment (apps)"},
		"one in a list":  {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]\n", 0, "Pod a (v1) cannot be converted"},
		"another group":  {strings.Replace(web, "apps/v1", "example.com/v1", 1), 0, "Deployment web (example.com/v1) cannot be converted"},
		"nothing":        {"# empty\n", 0, "there is no object"},
		"no YAML":        {"{", 0, "document 1"},
		"no object":      {"- a\n", 0, "it is not a Kubernetes object"},
		"without a kind": {"a: b\n", 0, "it is not a Kubernetes object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file, err := Documents([]byte(test.data))
			if len(file.Objects) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %d objects, %v", len(file.Objects), err)
			}
		})
	}
}

// Objects of other kinds do not keep the file from being converted: they are left out, and a warning names them.
func TestOthers(t *testing.T) {
	const budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
	tests := map[string]struct{ data, want string }{
		"none": {web, ""},
		"one": {web + service, "Service front (v1) is left out, because it cannot be converted; " +
			"if the cluster does not have it yet, apply it from a file of its own"},
		"several, which come first": {strings.TrimPrefix(service, "---\n") + budget + "---\n" + web,
			"Service front (v1), PodDisruptionBudget web (policy/v1) are left out, because they cannot be converted; " +
				"if the cluster does not have them yet, apply them from a file of their own"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file, err := Documents([]byte(test.data))
			if err != nil || len(file.Objects) != 1 || file.Warning() != test.want {
				t.Errorf("%d objects, %v, %q", len(file.Objects), err, file.Warning())
			}
		})
	}
}

func TestManifest(t *testing.T) {
	file, err := Documents([]byte(web))
	if err != nil {
		t.Fatal(err)
	}
	result, err := Convert(file.Objects[0], Options{Live: &Live{Autoscalers: []string{"scaler"}, Budgets: []string{"budget"}, Unread: []string{"Xs cannot be read"}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := result.Manifest()
	const want = `# Made from Deployment web. What to know:
# - spec.replicas: is left out, because HorizontalPodAutoscaler scaler sets it, and each kubectl apply would undo that; a new PodManager begins with 3 pods
# - new in a PodManager: a rollout halts at the first pod that fails (failurePolicy.onFailure: Halt); Rollback returns to the last good revision by itself, Continue goes on as a Deployment does
# - HorizontalPodAutoscaler scaler scales it: kubectl patch hpa scaler --type=merge -p '{"spec":{"scaleTargetRef":{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","name":"web"}}}'
# - PodDisruptionBudget budget keeps working: it selects pods by labels, which do not change
# - Xs cannot be read; check whether there is one for Deployment web
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: app
  updateStrategy:
    type: RollingUpdate
`
	if err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
}
