// Package manifest reads PodManagers from files, and works out what kubectl apply would change.
//
// Start with read.go. apply.go has the patch: what the file sets, and what the last applied file had set and this one does not. The API
// server alone knows the defaults and the rules of the CRD: package cluster asks it, with a dry run.
package manifest
