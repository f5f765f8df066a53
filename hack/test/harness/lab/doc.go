// Package lab runs a cluster and controllers for the campaigns (hack/chaos and hack/bench) and the end-to-end tests (hack/test/core and the like).
// Controllers are processes that can be started, measured, stopped and killed. The working directory has to be the root of the project.
//
//	cluster.go    the cluster, and kubectl
//	components.go killing parts of the cluster, and restarting them
//	etcd.go       backing up etcd, and restoring it
//	process.go    a process, its resources and its end
//	webhook.go    the validation of PodManagers, served by this process; conversion.go the conversion; webhook_faults.go their faults
//	contenders.go our controller, and the kube-controller-manager with a single controller
package lab
