// Package inplace updates pods without replacing them: images by a patch, CPU and memory by the resize subresource.
//
// Start with update.go: an Update is one step for one pod, and NextStep decides which. Drain closes the pod's readiness gate, Resize changes CPU
// and memory, Update changes the rest, Open opens the gate, and Restore reverts an interrupted update. patch.go builds the patches. drain.go decides
// how long a pod drains and when its gate opens. record.go has the Record, an annotation with the state of the containers before the update, and
// expect.go builds it. progress.go determines from the Record and the stored pod whether the kubelet has carried out the update. restarts.go decides
// which restarts count as crashes. The kubelet has to see one update before the next one is sent.
//
// Package compare determines what an update changes. Package rollout decides which pods are updated, and how many at a time.
package inplace
