// Package harness is what all suites of end-to-end tests share.
//
//	suite.go     the frame around a suite: it builds and installs what the tests need, and stops it afterwards
//	space.go     a test's namespace: kubectl, PodManagers, pods
//	podwatch.go  every version of the pods of a namespace, and invariants over all of them
//	wait.go      waiting for conditions
//	speed.go     how slow the machine is, which makes limits longer
//	lab          the cluster, the controllers and other processes, and what kills them
//	faults       a proxy that breaks connections, and an oracle that judges every version of every object
//	audit        the API server's audit log: who asked for what, and when
//	monitoring   a Prometheus with our alerts
//
// The campaigns (hack/chaos and hack/bench) use lab, faults and audit, too.
package harness
