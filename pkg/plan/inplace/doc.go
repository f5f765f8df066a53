// Package inplace updates pods without replacing them: images by a patch, CPU and memory by the resize subresource.
//
// Start with update.go: an Update is one step with one pod, and NextStep says which: Drain closes the pod's readiness gate, Resize changes
// CPU and memory, Update the rest, Open opens the gate; Restore reverts. patch.go builds the patches, drain.go says how long a pod drains
// and when its gate opens. record.go has the Record, an annotation with the state of the containers before the update; expect.go makes the
// Record. progress.go reads from it, and from what the API server has stored, whether the kubelet has carried out the update; restarts.go
// says which restarts count as crashes. The kubelet has to see one update before the next is sent.
//
// Package compare says what an update changes. Package rollout decides which pods are updated, and how many at a time.
package inplace
