// Package inplace updates pods without replacing them: images by a patch, CPU and memory by the resize subresource.
//
// Start with update.go: an Update is one step with one pod. diff.go compares two templates and names the obstacle if a pod cannot get
// from one to the other; resources.go does so for CPU and memory. patch.go builds the patches. A Record, written on the pod with each
// update, tells how the containers were before: expect.go makes it, record.go reads it. progress.go tells from it whether the
// kubelet has followed, restarts.go which restarts and troubles the update does not explain. gate.go drains pods by their readiness gate.
//
// Which pods are updated, and how many at a time, is decided in package rollout.
package inplace
