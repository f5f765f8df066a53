//go:build tools

// Package tools makes `go mod vendor` keep what the build scripts need.
package tools

import (
	// hack/update-codegen.sh runs kube_codegen.sh, which builds these.
	_ "k8s.io/code-generator"
	_ "k8s.io/code-generator/cmd/validation-gen"
)
