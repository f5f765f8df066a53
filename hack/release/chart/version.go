package main

import (
	"errors"
	"strings"
)

// versionBegin begins the operation of the patch that adds a version to the CRD. The operation ends where the next one begins, at nextBegin.
const (
	versionBegin = "- op: add\n  path: /spec/versions/-\n  value:\n"
	nextBegin    = "\n- op: "
)

// addedVersion returns the version that a JSON patch adds to the CRD, formatted as the last lines of the CRD. It is copied as text, because Helm
// reads and writes all numbers as floating point, and would write some in a form that the API server does not accept as an integer.
func addedVersion(patch string) (string, error) {
	_, version, found := strings.Cut(patch, versionBegin)
	version, _, _ = strings.Cut(version, nextBegin)
	rest, isIndented := strings.CutPrefix(version, "    ")
	if !found || !isIndented {
		return "", errors.New("the patch adds no version in the expected form")
	}
	return "  - " + strings.TrimSuffix(rest, "\n") + "\n", nil
}
