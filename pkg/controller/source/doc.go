// Package source has the informers of pods, ControllerRevisions and PodManagers, and the caches that they fill.
//
// Start with scope.go: a Scope has the informers of one namespace, or of all namespaces; with shards, those of one shard. indexes.go looks
// objects up in the caches. runner.go starts a Scope once the controller has the rights for it. scopes.go has the state of each Scope,
// namespaces.go finds the Scope of a namespace. trim.go drops fields before the caches, by podstate.Trim. decode.go
// tolerates objects that do not fit their Go type. relabelled.go finds pods that have lost our label. rewind.go notices that the
// API server has gone back in time: cmd/controller then makes new Scopes.
//
// The event handlers are in pkg/controller.
package source
