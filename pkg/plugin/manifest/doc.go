// Package manifest reads PodManagers from files and computes what kubectl apply would change.
//
// Start with read.go. apply.go builds the patch from the file and the last applied file. Only the API server knows the defaults and the rules of
// the CRD. Package cluster asks for them with a dry run.
package manifest
