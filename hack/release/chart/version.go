package main

import (
	"errors"
	"strings"
)

// The operation of the patch that adds a version to the CRD begins so, and ends where the next one begins.
const (
	versionBegin = "- op: add\n  path: /spec/versions/-\n  value:\n"
	nextBegin    = "\n- op: "
)

// addedVersion is the version that a JSON patch of the CRD adds, as the last lines of the CRD. It is moved as text: Helm reads and writes all
// numbers as floating point, and would write some in a form that is no integer to the API server.
func addedVersion(patch string) (string, error) {
	_, version, found := strings.Cut(patch, versionBegin)
	version, _, _ = strings.Cut(version, nextBegin)
	rest, isIndented := strings.CutPrefix(version, "    ")
	if !found || !isIndented {
		return "", errors.New("it adds no version in the form that is expected")
	}
	return "  - " + strings.TrimSuffix(rest, "\n") + "\n", nil
}
