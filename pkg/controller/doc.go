// Package controller keeps the cluster as plan.Make wants it. All I/O is here, and no policy: what to do, and what to
// say about it, is decided in pkg/plan.
//
//	controller.go  New, Run, the workers and the sync: gather, decide, apply, report
//	scope.go       what is watched, the indexes, and the listers' answers
//	scopes.go      how what is to be watched fares; life.go from when on it is watched; access.go what is permitted
//	handlers.go    which events reach the queue; agenda.go why a key is in it, and when it is looked at again
//	gather.go      what a sync rests on, and whether that is fresh enough
//	apply.go       carrying out a plan; outcome.go what came of it; parallel.go many requests at a time; pods.go, inplace.go,
//	               revisions.go and finalizer.go the single ones
//	report.go      the status; events.go the events
//	strayed.go     pods that were relabelled away while nobody watched
//	priority.go    the order in which keys leave the queue
//	isolation.go   what happens when one object breaks; decode.go when it cannot even be read
//	rewind.go      what happens when the API server goes back in time
//	memory.go      what is remembered between two syncs of one PodManager
//	transform.go   what the cache keeps of a pod
//	metrics.go     podmanager_* metrics
package controller
