package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
)

func TestInstalledAs(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/bin/kubectl-podmanager": "podmanager", "kubectl-pm": "pm", "kubectl-pm.exe": "pm", "main": "pm",
	} {
		if got := installedAs(program); got != want {
			t.Errorf("%s: got %q, want %q", program, got, want)
		}
	}
}

// Invalid arguments are reported before any request is sent. The test has no cluster.
func TestWithoutACluster(t *testing.T) {
	tests := map[string]struct {
		args     string
		code     int
		out, err string
	}{
		"help":                      {"--help", 0, "Look:", ""},
		"nothing":                   {"", 0, "Look:", ""},
		"exit codes are in help":    {"status --help", 0, "124  timed out (--timeout)", ""},
		"version":                   {"version", 0, "kubectl pm ", ""},
		"completion":                {"completion kubectl", 0, `exec kubectl podmanager __complete "$@"`, ""},
		"an unknown verb":           {"frobnicate", 1, "", `unknown command "frobnicate"`},
		"a misspelled verb":         {"satus", 1, "", `unknown command "satus" for "kubectl pm"; did you mean status?`},
		"a verb of kubectl rollout": {"rollback web", 1, "", "did you mean undo?"},
		"kubectl rollout undo":      {"rollout undo web", 1, "", "did you mean kubectl pm undo?"},
		"rollback, with a flag":     {"rollback web --to-revision 1", 1, "", `unknown command "rollback" for "kubectl pm"; did you mean undo?`},
		"undo of kubectl, and flag": {"rollout undo web --to-revision=1", 1, "", "did you mean kubectl pm undo?"},
		"misspelled, with a flag":   {"-n ns stauts web --timeout 5s", 1, "", `unknown command "stauts" for "kubectl pm"; did you mean status?`},
		"delete, with a flag":       {"delete web --cascade=orphan", 1, "", "did you mean kubectl delete pm?"},
		"apply, with a flag":        {"apply -f x", 1, "", `unknown command "apply" for "kubectl pm"`},
		"set, with a flag":          {"set img web --cause x", 1, "", `unknown command "img" for "kubectl pm set"; did you mean set image?`},
		"a flag without a verb":     {"--frobnicate get", 1, "", "unknown flag: --frobnicate\nSee 'kubectl pm --help'"},
		"rollout, and no verb":      {"rollout", 1, "", `unknown command "rollout"`},
		"describe is kubectl's":     {"describe web", 1, "", "did you mean kubectl describe pm?"},
		"delete is kubectl's":       {"delete web", 1, "", "did you mean kubectl delete pm?"},
		"set, misspelled":           {"set img web app=x", 1, "", `unknown command "img" for "kubectl pm set"; did you mean set image?`},
		"set without image":         {"set web app=x", 1, "", `unknown command "web" for "kubectl pm set"; did you mean set image?`},
		"an unknown flag":           {"get --frobnicate", 1, "", "See 'kubectl pm get --help'"},
		"one flag too short":        {"get -x", 1, "", "unknown shorthand flag"},
		"a name is missing":         {"status", 1, "", "the name of a PodManager is missing: kubectl pm status NAME"},
		"two names":                 {"status web api", 1, "", "kubectl pm status takes the name of one PodManager, and there are 2 arguments: web api"},
		"three revisions":           {"diff web 1 2 3", 1, "", "kubectl pm diff takes the name of one PodManager and up to two revisions, and there are 4 arguments: web 1 2 3"},
		"nothing to compare":        {"diff", 1, "", "the name of a PodManager is missing: kubectl pm diff NAME"},
		"two to check":              {"check web api", 1, "", "kubectl pm check takes the name of at most one PodManager, and there are 2 arguments: web api"},
		"names and a selector":      {"get web -l a=b", 1, "", "give names or -l, not both"},
		"a name in all namespaces":  {"get web -A", 1, "", "leave out -A"},
		"-w and -o":                 {"get -w -o yaml", 1, "", "leave out -o"},
		"--until-ready alone":       {"get --until-ready", 1, "", "need -w"},
		"no image":                  {"set image web", 1, "", "write CONTAINER=IMAGE"},
		"a strange partition":       {"promote web --to many", 1, "", "use a number of pods or a percentage"},
		"a partition below 0":       {"promote web --to=-1", 1, "", "use a number of pods or a percentage"},
		"no replicas":               {"scale web", 1, "", "the number of pods is missing: use --replicas N"},
		"replicas below 0":          {"scale web --replicas -2", 1, "", "--replicas is \"-2\"; use a number of pods, such as 3"},
		"replicas not a number":     {"scale web --replicas x", 1, "", "--replicas is \"x\"; use a number of pods, such as 3"},
		"too many replicas":         {"scale web --replicas 9999999999", 1, "", "use a number of pods, such as 3"},
		"present replicas":          {"scale web --replicas 2 --current-replicas x", 1, "", "--current-replicas is \"x\"; use a number of pods, such as 3"},
		"nothing to convert":        {"convert", 1, "", "say what to convert"},
		"two to convert":            {"convert deployment/web -f x", 1, "", "give KIND/NAME or -f, not both"},
		"an empty file to convert":  {"convert -f -", 1, "", "there is no object to convert; convert takes Deployment (apps)"},
		"a script as JSON":          {"convert deployment/web --adopt -o json", 1, "", "leave out -o"},
		"convert what is live":      {"convert deployment/web", 1, "", "no cluster is configured"},
		"migrate one":               {"migrate web", 1, "", `unknown command "web" for "kubectl pm migrate"`},
		"a strange dry run":         {"migrate --dry-run=maybe", 1, "", "--dry-run is \"maybe\""},
		"no cluster":                {"get", 1, "", "no cluster is configured"},
	}
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			p := &plugin{in: strings.NewReader(""), out: &out, errOut: &errOut, getenv: func(string) string { return "" }, installedAs: "podmanager"}
			if code := p.run(t.Context(), strings.Fields(test.args)); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(out.String(), test.out) || !strings.Contains(errOut.String(), test.err) || test.err == "" && errOut.Len() > 0 {
				t.Errorf("printed\n%s\nand\n%s", out.String(), errOut.String())
			}
		})
	}
}

// A file that is piped through convert can be applied, whatever else is in it.
func TestConvertLeavesOthersOut(t *testing.T) {
	const file = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: app, image: a}]}}}}\n---\n" +
		"{apiVersion: v1, kind: Service, metadata: {name: front}}\n"
	var out, errOut bytes.Buffer
	p := &plugin{in: strings.NewReader(file), out: &out, errOut: &errOut, getenv: func(string) string { return "" }, installedAs: "podmanager"}
	code := p.run(t.Context(), []string{"convert", "-f", "-"})
	const warning = "Warning: Service front (v1) is left out, because "
	if code != 0 || strings.Count(out.String(), "\nkind: ") != 1 || !strings.HasPrefix(errOut.String(), warning) {
		t.Errorf("exit code %d, printed\n%s\nand\n%s", code, out.String(), errOut.String())
	}
}

// The hints of status work as printed, in every namespace.
func TestHintsOfStatus(t *testing.T) {
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"}}
	for outcome, want := range map[follow.Outcome]string{
		follow.UnderWay: "run 'kubectl pm why web -n ns' to see what the rollout is waiting for",
		follow.Failed:   "run 'kubectl pm why web -n ns' to see why",
		follow.Held:     "run 'kubectl pm why web -n ns' to see how to continue",
	} {
		if err := (&plugin{}).exitOf(expired, statusOptions{}, manager, outcome); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Each verb has a line of help and belongs to a group.
func TestEveryVerbIsDescribed(t *testing.T) {
	p := &plugin{out: &bytes.Buffer{}, errOut: &bytes.Buffer{}, installedAs: "podmanager"}
	for _, command := range p.root().Commands() {
		if command.Short == "" || command.GroupID == "" {
			t.Errorf("%s is not described", command.Name())
		}
	}
}
