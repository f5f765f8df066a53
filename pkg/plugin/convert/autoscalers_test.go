package convert

import (
	"strings"
	"testing"
)

// A manifest leaves replicas out if a HorizontalPodAutoscaler of the same file, or a live one, scales the object, and a comment says why.
func TestAutoscalers(t *testing.T) {
	autoscaler := func(metadata, target string) string {
		return "---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {" + metadata + "}, spec: {scaleTargetRef: {" + target + "}, maxReplicas: 9}}\n"
	}
	const ours = "apiVersion: apps/v1, kind: Deployment, name: web"
	object := strings.Replace(web, "spec: {", "spec: {replicas: 5, ", 1)
	tests := map[string]struct {
		file, options string
		// by is the autoscaler that the comment names. It is empty if replicas stays. left is what the warning says about one that scales no object of
		// the file.
		by, left, err string
	}{
		"none":                      {file: object},
		"one":                       {file: object + autoscaler("name: scaler", ours), by: "scaler"},
		"one that comes first":      {file: strings.TrimPrefix(autoscaler("name: scaler", ours), "---\n") + "---\n" + object, by: "scaler"},
		"one without apiVersion":    {file: object + autoscaler("name: scaler", "kind: Deployment, name: web"), by: "scaler"},
		"an older one":              {file: object + strings.Replace(autoscaler("name: scaler", ours), "autoscaling/v2", "autoscaling/v1", 1), by: "scaler"},
		"one in the namespace":      {file: strings.Replace(object, "name: web", "name: web, namespace: shop", 1) + autoscaler("name: scaler, namespace: shop", ours), by: "scaler"},
		"in another namespace":      {file: strings.Replace(object, "name: web", "name: web, namespace: shop", 1) + autoscaler("name: scaler, namespace: other", ours), left: "HorizontalPodAutoscaler scaler (autoscaling/v2) is left out"},
		"of another object":         {file: object + autoscaler("name: scaler", "kind: Deployment, name: other"), left: "HorizontalPodAutoscaler scaler (autoscaling/v2) is left out"},
		"of another kind":           {file: object + autoscaler("name: scaler", "kind: StatefulSet, name: web"), left: "is left out"},
		"of another group":          {file: object + autoscaler("name: scaler", "apiVersion: example.com/v1, kind: Deployment, name: web"), left: "is left out"},
		"alone":                     {file: strings.TrimPrefix(autoscaler("name: scaler", ours), "---\n"), err: "cannot be converted"},
		"a kind of the same name":   {file: object + strings.Replace(autoscaler("name: scaler", ours), "autoscaling/v2", "example.com/v1", 1), left: "(example.com/v1) is left out"},
		"a name of several lines":   {file: object + autoscaler(`name: "a\nb"`, ours), by: "a b"},
		"live":                      {file: object, options: "live", by: "live"},
		"live, the pods are handed": {file: object, options: "live, kept"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file, err := Documents([]byte(test.file))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || len(file.Objects) != 1 || !strings.Contains(file.Warning(), test.left) || test.left == "" && len(file.Others) > 0 {
				t.Fatalf("%d objects, %q, %v", len(file.Objects), file.Warning(), err)
			}
			options := Options{Autoscalers: file.Autoscalers, KeepReplicas: strings.Contains(test.options, "kept")}
			if strings.Contains(test.options, "live") {
				options.Live = &Live{Autoscalers: []string{"live"}}
			}
			result, err := Convert(file.Objects[0], options)
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := result.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			comment := "# - spec.replicas: is left out, because HorizontalPodAutoscaler " + test.by + " sets it, and each kubectl apply would undo that; a new PodManager begins with 3 pods\n"
			isLeftOut := !strings.Contains(manifest, "\n  replicas: 5\n")
			if isLeftOut != (test.by != "") || isLeftOut != strings.Contains(manifest, comment) || isLeftOut != strings.Contains(manifest, "HorizontalPodAutoscaler "+test.by+" scales it: ") {
				t.Errorf("got\n%s", manifest)
			}
		})
	}
}
