package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestChanges reads the log of a repository, and groups it.
func TestChanges(t *testing.T) {
	tree := newTree(t)
	mustGit(t, tree, "tag", "v0.1.0")
	commit(t, tree, "plan: a canary waits", "pkg/plan/rollout/step.go", "pkg/plan/rollout/step_test.go")
	commit(t, tree, "plan: a test of that", "pkg/plan/rollout/step_test.go", "README.md")
	commit(t, tree, "source: a field", "pkg/apis/podmanager/v1/types.go", "pkg/plan/plan.go", "artifacts/crd.yaml")
	commit(t, tree, "chart: a value", "artifacts/chart/values.yaml")
	commit(t, tree, "why: a sentence", "pkg/plugin/why/why.go")
	commit(t, tree, "e2e-chart: a value", "hack/test/chart/testdata/values.yaml")
	commit(t, tree, "Docs: a comment", "pkg/plan/plan.go")
	commit(t, tree, "trials: a folder that is new", "pkg/trials/trials.go", "pkg/plugin/why/why.go")
	commit(t, tree, "courses: only simulated", "pkg/world/course.go")
	changes, err := tree.changes("v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, change := range changes {
		got = append(got, change.heading()+"|"+change.subject)
	}
	want := []string{
		"|courses: only simulated", "Controller|trials: a folder that is new", "|Docs: a comment", "|e2e-chart: a value", "kubectl pm|why: a sentence", "Install|chart: a value", "API|source: a field",
		"|plan: a test of that", "Controller|plan: a canary waits",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if all, err := tree.changes(""); err != nil || len(all) != len(want)+1 {
		t.Errorf("%d commits in all (error %v), want %d", len(all), err, len(want)+1)
	}
}

func TestPreviousTag(t *testing.T) {
	tree := newTree(t)
	for _, step := range []struct{ tag, version, want string }{
		{"", "v0.1.0", ""}, {"v0.1.0", "v0.1.0", ""}, {"", "v0.2.0", "v0.1.0"}, {"nightly", "v0.2.0", "v0.1.0"}, {"v0.2.0", "v0.2.0", "v0.1.0"},
	} {
		commit(t, tree, "next: nothing")
		if step.tag != "" {
			mustGit(t, tree, "tag", step.tag)
		}
		if got, err := tree.previousTag(version(step.version)); err != nil || got != step.want {
			t.Errorf("before %s, with the tag %q, is %q (error %v), want %q", step.version, step.tag, got, err, step.want)
		}
	}
}

func TestNotes(t *testing.T) {
	changes := []change{{"e2e: a test", []string{"hack/test/core/a_test.go"}}, {"chart: a value", []string{"artifacts/chart/values.yaml"}}}
	for i := range mostLines + 3 {
		changes = append(changes, change{fmt.Sprintf("plan: step %d", i), []string{"pkg/plan/plan.go"}})
	}
	text := notes(changes, "v0.1.0", testStamps("v0.2.0"), "https://example.com/v0.2.0")
	for _, want := range []string{
		"# PodManager v0.2.0\n", "Changes since v0.1.0: 20 commits, of which 1 are to tests, tools and docs only.",
		"## Controller\n\n- plan: step 0\n", "- plan: step 14\n- and 3 more: `git log v0.1.0..v0.2.0`\n\n## Install\n\n- chart: a value\n",
		"kubectl apply -f https://example.com/v0.2.0/install.yaml", " https://example.com/v0.2.0/podmanager-0.2.0.tgz ",
		"--manifest-url https://example.com/v0.2.0/podmanager.yaml", "`mycompany/podmanager:v0.2.0@" + testDigest + "`",
		"0123456789012345678901234567890123456789", "`make release VERSION=v0.2.0`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the notes:\n%s", want, text)
		}
	}
	for _, not := range []string{"step 15", "e2e: a test", "%!"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in the notes:\n%s", not, text)
		}
	}
}
