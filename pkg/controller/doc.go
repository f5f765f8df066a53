// Package controller keeps the cluster as plan.Make wants it. All I/O is here and in the rooms below, and no policy: what to do, and
// what to say, is decided in pkg/plan.
//
// Start with controller.go: New, Run, the workers, and syncHandler, which gathers, decides, applies and reports. handlers.go turns events
// into keys. gather.go collects what a sync may rest on, from the cache or from the API server. strayed.go finds pods that were relabelled
// while no controller ran. isolation.go keeps one broken object from stopping the others.
//
//	metrics    podmanager_* metrics
//	access     which rights the controller has
//	memory     what is kept between two syncs of one PodManager
//	queue      why a key is queued, and when it is looked at again
//	source     informers: what is watched, and what the caches keep
//	executor   carries out a plan
//	report     writes statuses and events
package controller
