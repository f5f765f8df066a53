// Package access asks the API server which rights the controller has in a namespace, and tells users how to grant the missing ones.
//
// All is the list of rights; a test compares it with artifacts/rbac.yaml. Package source decides what a missing right means for a namespace.
package access
