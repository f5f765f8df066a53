// Command bundlecheck runs the validators of the Operator Framework on a bundle for OLM: those for every bundle, and those of OperatorHub.
//
//	"$(hack/tool.sh bundlecheck)" .release/bundle
//
// It fails if there is an error, or a warning that is not known to be wrong. operator-verify, the program of the Operator Framework, runs fewer
// validators and always exits successfully.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
)

// wrong has parts of warnings that do not apply to our bundle.
var wrong = []string{
	// A rule names no versions. The validator assumes events.k8s.io/v1beta1, which was removed; the controller writes v1.
	"deprecated and removed in v1.25. More info: https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-25. Migrate the API(s) for events: ",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundlecheck FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bundlecheck:", err)
		os.Exit(1)
	}
}

func run(folder string, out io.Writer) error {
	folder, err := filepath.Abs(folder) // the loader would skip a hidden folder, and it treats . as one
	if err != nil {
		return err
	}
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return err
	}
	validators := validation.DefaultBundleValidators.WithValidators(
		validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		validation.ObjectValidator, validation.GoodPracticesValidator,
	)
	results := validators.Validate(bundle.ObjectsToValidate()...)
	bad := 0
	for _, result := range results {
		for _, finding := range findings(result) {
			bad++
			fmt.Fprintf(out, "%s: %v\n", result.Name, finding)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d findings in %s", bad, bundle.Name)
	}
	fmt.Fprintf(out, "The validators of the Operator Framework have found nothing in %s (%d results)\n", bundle.Name, len(results))
	return nil
}

// findings returns the errors, and the warnings that are not known to be wrong.
func findings(result errors.ManifestResult) []errors.Error {
	found := slices.Clone(result.Errors)
	for _, warning := range result.Warnings {
		known := func(part string) bool { return strings.Contains(warning.Error(), part) }
		if !slices.ContainsFunc(wrong, known) {
			found = append(found, warning)
		}
	}
	return found
}
