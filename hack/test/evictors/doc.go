// Package evictors runs programs of other projects that evict or resize the pods of PodManagers: the updater of the Vertical Pod Autoscaler, and
// the descheduler. Their authors know Deployments, and not our kind: the tests show that a PodDisruptionBudget holds them back.
//
// Run it with make e2e-evictors, which builds both programs. The first build takes minutes, so the suite is not part of make test-all.
//
//	main_test.go         building the programs, and a test's namespace
//	updater_test.go      the updater, with a recommendation written by hand
//	descheduler_test.go  the descheduler
package evictors
