// Package inplace updates pods without replacing them: images by a patch, CPU and memory by the resize subresource.
//
// Start with update.go: an Update is one step with one pod. patch.go builds the patches. record.go has the Record, an annotation in which
// each update keeps the state of the containers before it; expect.go makes it. progress.go reads from it whether the kubelet has carried
// out the update, restarts.go which restarts and troubles the update does not explain. drain.go drains pods by their readiness gate.
//
// Package compare says what an update changes. Package rollout decides which pods are updated, and how many at a time.
package inplace
