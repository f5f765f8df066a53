package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// change is a commit: its subject, and the files that it changes.
type change struct {
	subject string
	files   []string
}

// Separators between the commits of the log, and between a subject and its files. No subject contains these characters.
const (
	recordMark = "\x1e"
	fieldMark  = "\x1f"
)

// changes returns the commits since a tag, or all commits if it is empty, newest first. Merges are left out, because they add nothing to their
// commits.
func (r repository) changes(since string) ([]change, error) {
	commits := "HEAD"
	if since != "" {
		commits = since + "..HEAD"
	}
	log, err := r.git("log", "--no-merges", "--no-show-signature", "--name-only", "--no-renames", "--format=%x1e%s%x1f", commits, "--")
	if err != nil {
		return nil, err
	}
	var all []change
	for record := range strings.SplitSeq(log, recordMark) {
		subject, files, ok := strings.Cut(record, fieldMark)
		if ok {
			all = append(all, change{subject, strings.Fields(files)})
		}
	}
	return all, nil
}

// group is a section of the notes: changes to a part of the product that users see.
type group struct {
	heading string
	folders []string
	without []string
}

// A commit belongs to the first group that contains one of its files. The folders show whether a change reaches users. The areas in the subjects of
// commits do not, because they change over time.
var groups = []group{
	{"API", []string{"pkg/apis/", "artifacts/crd.yaml"}, nil},
	{"Controller", []string{"cmd/controller/", "pkg/"}, []string{"pkg/generated/", "pkg/plugin/", "pkg/world/"}},
	{"kubectl pm", []string{"cmd/kubectl-podmanager/", "pkg/plugin/"}, nil},
	{"Install", []string{"artifacts/", "Dockerfile"}, nil},
	{"Dependencies", []string{"go.mod"}, nil},
}

// has reports whether a file belongs to the group, and reaches users.
func (g group) has(path string) bool {
	in := func(folder string) bool { return strings.HasPrefix(path, folder) }
	return slices.ContainsFunc(g.folders, in) && !slices.ContainsFunc(g.without, in) &&
		!strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "/testdata/")
}

// inside has the areas of subjects that are about tests, tools and docs, whatever else the commit changes.
var inside = []string{
	"bench", "chaos", "demo", "docs", "e2e", "e2e-chart", "e2e-node", "e2e-plugin", "faults", "gofmt", "hack", "lab", "lint", "manual", "node",
	"readme", "test", "tests", "unit", "world",
}

// heading returns the group of a change, or empty for tests, tools and docs.
func (c change) heading() string {
	if area, _, _ := strings.Cut(c.subject, ":"); slices.Contains(inside, strings.ToLower(area)) {
		return ""
	}
	for _, group := range groups {
		if slices.ContainsFunc(c.files, group.has) {
			return group.heading
		}
	}
	return ""
}

// mostLines is the maximum number of lines of a group. Notes are for reading, and the log is complete.
const mostLines = 15

// notes describes what has changed since the previous tag, how to install, and where the files come from.
func notes(changes []change, since string, stamps stamps, url string) string {
	byHeading := map[string][]string{}
	for _, change := range changes {
		byHeading[change.heading()] = append(byHeading[change.heading()], "- "+change.subject)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# PodManager %s\n\n", stamps.version)
	commits, log := "The first release", "git log "+string(stamps.version)
	if since != "" {
		commits, log = "Changes since "+since, "git log "+since+".."+string(stamps.version)
	}
	fmt.Fprintf(&text, "%s: %d commits, of which %d are to tests, tools and docs only.\n", commits, len(changes), len(byHeading[""]))
	for _, group := range groups {
		lines := byHeading[group.heading]
		if len(lines) == 0 {
			continue
		}
		if more := len(lines) - mostLines; more > 0 {
			lines = append(slices.Clone(lines[:mostLines]), fmt.Sprintf("- and %d more: `%s`", more, log))
		}
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", group.heading, strings.Join(lines, "\n"))
	}
	fmt.Fprintf(&text, installation, url, stamps.version.number(), url, stamps.image.pinned(), runtime.Version(), stamps.commit, stamps.version)
	return text.String()
}

const installation = `
## Install or upgrade

One of the first two; the third is the plugin, which is also here as archives for those without krew:

` + "```sh" + `
kubectl apply -f %[1]s/install.yaml
helm upgrade --install podmanager %[1]s/podmanager-%[2]s.tgz --namespace podmanager-system --create-namespace
kubectl krew install --manifest-url %[3]s/podmanager.yaml
` + "```" + `

The image is ` + "`%[4]s`" + `. ` + "`sha256sum -c SHA256SUMS`" + ` checks what was downloaded; the README describes how to check who made it.
%[5]s has compiled it from commit %[6]s; with the same Go, ` + "`make release VERSION=%[7]s`" + ` gives the same files.
`
