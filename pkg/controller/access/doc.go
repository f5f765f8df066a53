// Package access asks the API server which rights the controller has in a namespace, and says how to get the missing ones.
//
// All is the list of rights; a test compares it with artifacts/rbac.yaml. What a missing right means for a namespace is decided in package
// source.
package access
