// Command chart keeps artifacts/chart and the manifests in artifacts consistent. The manifests are the source of truth.
//
//	chart generate                     writes what the chart takes from elsewhere: the CRD, its version v1alpha1, alerts, dashboard, and
//	                                   the table of values in its README
//	chart compare MANIFESTS RENDERED   fails if the objects of the rendered chart differ from the manifests, except for what Helm adds
//
// make generate and make verify run it, from the root of the project.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	patchFile  = "artifacts/webhook/crd-patch.yaml"
	alphaFile  = "artifacts/chart/files/v1alpha1.yaml"
	valuesFile = "artifacts/chart/values.yaml"
	readmeFile = "artifacts/chart/README.md"
)

// copies has the files that the chart contains unchanged, because a chart can only read its own files. It maps the copy to the original.
var copies = map[string]string{
	"artifacts/chart/files/crd.yaml":       "artifacts/crd.yaml",
	"artifacts/chart/files/alerts.yaml":    "artifacts/monitoring/alerts.yaml",
	"artifacts/chart/files/dashboard.json": "artifacts/monitoring/dashboard.json",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 1 && arguments[0] == "generate":
		return generate()
	case len(arguments) == 3 && arguments[0] == "compare":
		return compareFiles(arguments[1], arguments[2])
	}
	return errors.New("usage: chart generate, or chart compare MANIFESTS RENDERED")
}

func generate() error {
	for to, from := range copies {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
	if err := generateAlpha(); err != nil {
		return err
	}
	values, err := os.ReadFile(valuesFile)
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	updated, err := withTable(string(readme), values)
	if err != nil {
		return err
	}
	return os.WriteFile(readmeFile, []byte(updated), 0o644)
}

// generateAlpha writes the version of the CRD that is served only with webhooks. Without a patch there is none.
func generateAlpha() error {
	patch, err := os.ReadFile(patchFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	version, err := addedVersion(string(patch))
	if err != nil {
		return fmt.Errorf("%s: %w", patchFile, err)
	}
	return os.WriteFile(alphaFile, []byte(version), 0o644)
}

func compareFiles(manifests, rendered string) error {
	var found [2]objects
	for i, file := range []string{manifests, rendered} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if found[i], err = readObjects(data); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if all := differences(found[0], found[1]); len(all) > 0 {
		return fmt.Errorf("the chart and artifacts/*.yaml do not agree:\n  %s", strings.Join(all, "\n  "))
	}
	return nil
}
