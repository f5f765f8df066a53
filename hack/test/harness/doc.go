// Package harness is shared by all end-to-end test suites.
//
//	suite.go     the frame of a suite: it builds and installs what the tests need, and stops it afterwards
//	space.go     a test's namespace: kubectl, PodManagers, pods
//	podwatch.go  every version of the pods of a namespace, and invariants over all of them
//	wait.go      waiting for conditions
//	speed.go     how slow the machine is; limits are longer on a slow one
//	memory.go    a limit on the memory of a process
//	lab          the cluster, the controllers and other processes, and how to kill them
//	faults       a proxy that breaks connections, and an oracle that checks every version of every object
//	audit        the API server's audit log: which user requested what, and when
//	monitoring   a Prometheus with our alerts
//
// The campaigns (hack/chaos and hack/bench) use lab, faults and audit, too.
package harness
